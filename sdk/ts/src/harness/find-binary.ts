/** Finds the `prom` binary if none was given. */

import { accessSync, constants } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** `PROM_BINARY`, or what was built in a checkout above the current folder, or what is on the `PATH`. */
export function findBinary(): string {
  const named = process.env["PROM_BINARY"];
  if (named !== undefined && named !== "") {
    if (isExecutable(named)) return named;
    throw new Error(`PROM_BINARY names ${named}, which is no program that can be started`);
  }
  const candidates = [...builtAbove(process.cwd()), ...onThePath()];
  const found = candidates.find(isExecutable);
  if (found !== undefined) return found;
  throw new Error(
    "there is no prom binary to start a hub with: set PROM_BINARY to it, put it on the PATH, " +
      "or run `cargo build -p prom-cli` in a checkout and the test inside it",
  );
}

function builtAbove(start: string): string[] {
  const found = [];
  for (let folder = start; ; folder = dirname(folder)) {
    found.push(join(folder, "target", "release", "prom"), join(folder, "target", "debug", "prom"));
    if (folder === dirname(folder)) return found;
  }
}

function onThePath(): string[] {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, "prom"));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
