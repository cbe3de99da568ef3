// Compiles Sibilant programs with the compiler from npm and runs what comes out.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";

// The compiler rewrites the stack traces of its whole process unless told not to.
process.env.DISABLE_SOURCE_MAPS = "1";
const sibilant = createRequire(import.meta.url)("sibilant");

export const root = fileURLToPath(new URL("..", import.meta.url));
const HEAD = '(include "../../macros")\n(import-namespace prom)\n(use-promethean)\n';

/** What a file of a program compiles to. */
export function compileFile(file) {
  return sibilant({ file }).js;
}

/** A folder below this package, so that what is compiled there finds the package by its name. Gone after the test. */
export function scratchFolder(t) {
  mkdirSync(join(root, "build"), { recursive: true });
  const folder = mkdtempSync(join(root, "build", "test-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Compiles a program that has all macros, and gives the file of the result. */
export function compile(t, program) {
  const folder = scratchFolder(t);
  const source = join(folder, "program.sibilant");
  writeFileSync(source, HEAD + program);
  const result = join(folder, "program.js");
  writeFileSync(result, compileFile(source));
  return result;
}

/** Compiles a program and runs it in this process; gives what it put on `globalThis.result`. */
export async function evaluate(t, program) {
  const file = compile(t, program);
  delete globalThis.result;
  await import(pathToFileURL(file).href);
  return globalThis.result;
}

/** Runs a file in a separate process, with the hub's address, and returns what it printed. */
export async function run(file, url, { cwd = root, args = [] } = {}) {
  const env = { ...process.env, PROM_URL: url };
  const { stdout } = await promisify(execFile)(process.execPath, [file, ...args], { cwd, env, timeout: 30_000 });
  return stdout;
}
