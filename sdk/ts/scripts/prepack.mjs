// Builds what is packed. In a fresh checkout the compiler is not there yet: it is fetched first, as the lock file has it.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/** From the folder of the package, where npm runs this. */
function npm(...args) {
  const { status } = spawnSync("npm", args, { stdio: ["ignore", "inherit", "inherit"], shell: process.platform === "win32" });
  if (status !== 0) process.exit(status ?? 1);
}

if (!existsSync("node_modules/typescript")) npm("ci", "--no-audit", "--no-fund");
npm("run", "build");
