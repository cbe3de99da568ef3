// Runs every `*.test.js` below build/test, or those whose path contains one of the words given: `node scripts/test.mjs
// reconnect`. Exits with the runner's status.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const words = process.argv.slice(2);
const files = readdirSync(`${root}build/test`, { recursive: true })
  .map((path) => `build/test/${String(path).replaceAll("\\", "/")}`)
  .filter((path) => path.endsWith(".test.js"))
  .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
  .sort();
if (files.length === 0) {
  console.error(words.length === 0 ? "no tests were built" : `no test's path contains ${words.join(" or ")}`);
  process.exit(1);
}
// A file that hangs, because a failed test left something open, is ended and counted as failed.
const arguments_ = ["--enable-source-maps", "--test", "--test-concurrency=2", "--test-timeout=120000", ...files];
const { status } = spawnSync(process.execPath, arguments_, { cwd: root, stdio: "inherit" });
process.exit(status ?? 1);
