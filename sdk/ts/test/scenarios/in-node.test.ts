/** Runs the scenarios in Node against a real hub. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import * as sdk from "../../src/index.js";
import { type Harness, startHarness } from "../../src/harness.js";
import { suites } from "./all.js";
import { hubControl } from "./hub-control.js";
import { runScenario } from "./scenario.js";

const dataFolder = mkdtempSync(join(tmpdir(), "prom-scenarios-"));
let harness: Harness | undefined;

before(async () => {
  harness = await startHarness({ dataFolder });
});

after(async () => {
  await harness?.close();
  rmSync(dataFolder, { recursive: true, force: true });
});

let runs = 0;
for (const [suite, scenarios] of Object.entries(suites)) {
  describe(suite, () => {
    for (const scenario of scenarios) {
      test(scenario.name, async () => {
        assert.ok(harness);
        runs += 1;
        await runScenario(scenario, { sdk, url: harness.url, hub: hubControl(harness), run: String(runs) });
      });
    }
  });
}
