/** Runs the scenarios in a page of a headless Chromium against a real hub. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import type { Browser, Page } from "playwright-core";

import { type Harness, startHarness } from "../../src/harness.js";
import { suites } from "../scenarios/all.js";
import { hubControl } from "../scenarios/hub-control.js";
import type { HubControl } from "../scenarios/scenario.js";
import { browserMissing, openBrowser } from "./open-browser.js";
import { type FileServer, serveFiles } from "./serve-files.js";

/** The folder of the package: from `build/test/browser`. */
const root = fileURLToPath(new URL("../../..", import.meta.url));
const PAGE = `<!doctype html><meta charset="utf-8"><title>scenarios</title>
<script type="module" src="/build/test/browser/page.js"></script>\n`;

describe("in a browser", { skip: browserMissing() }, () => {
  const dataFolder = mkdtempSync(join(tmpdir(), "prom-browser-"));
  let harness: Harness | undefined;
  let files: FileServer | undefined;
  let browser: Browser | undefined;
  let page: Page;

  before(async () => {
    // One after the other, so that what was opened is closed if the next cannot be.
    harness = await startHarness({ dataFolder });
    files = await serveFiles(root, { "/scenarios": PAGE });
    browser = await openBrowser();
    page = await openPage(browser, harness, `${files.url}/scenarios`);
  });

  after(async () => {
    await browser?.close();
    await files?.close();
    await harness?.close();
    rmSync(dataFolder, { recursive: true, force: true });
  });

  let runs = 0;
  for (const [suite, scenarios] of Object.entries(suites)) {
    describe(suite, () => {
      for (const { name } of scenarios) {
        test(name, async () => {
          runs += 1;
          const failure = await page.evaluate(
            ([suite, name, url, run]) => window.runScenario(suite, name, url, run),
            [suite, name, harness?.url ?? "", String(runs)] as const,
          );
          assert.equal(failure, undefined, failure);
        });
      }
    });
  }
});

async function openPage(browser: Browser, harness: Harness, url: string): Promise<Page> {
  const page = await browser.newPage();
  const control = hubControl(harness);
  await page.exposeFunction("steerHub", (action: keyof HubControl, path: string, body: unknown) =>
    control[action](path, body),
  );
  page.on("pageerror", (error) => console.error(`in the page: ${error.stack ?? error.message}`));
  await page.goto(url);
  await page.waitForFunction(() => typeof window.runScenario === "function");
  return page;
}
