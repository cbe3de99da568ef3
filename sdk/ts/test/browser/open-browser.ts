/**
 * A headless Chromium of the machine: `CHROMIUM`, or the usual names on the `PATH`. Nothing is downloaded.
 *
 * Without one, tests that need it are skipped with a message; if `CI` is set they fail.
 */

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

import { type Browser, chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const HOW = "install one (apt-get install -y chromium), or set CHROMIUM to its path";

/** No sandbox: tests run as root in containers. The rest keeps it from calling home. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** For the `skip` of a test: why there is no browser, or `false`. */
export function browserMissing(): string | false {
  if (findChromium() !== undefined || isCi()) return false;
  return `there is no Chromium here: ${HOW}`;
}

export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error(`there is no Chromium here, and CI needs one: ${HOW}`);
  return chromium.launch({ executablePath, args: FLAGS });
}

function isCi(): boolean {
  return (process.env["CI"] ?? "") !== "";
}

function findChromium(): string | undefined {
  const named = process.env["CHROMIUM"];
  if (named !== undefined && named !== "") return named;
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
