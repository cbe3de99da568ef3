// The measurement of bench/scale.mjs in its shortest form: every list answers a page and no more, and the page does what a person
// asks of it beside steady traffic. How long that takes is measured by hand, with the real numbers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { scale } from "../bench/scale.mjs";
import { browserMissing } from "./browser.mjs";

const PAGE_BYTES = 64 * 1024;

test("many topics and groups are paged, and the page stays usable beside traffic", { skip: browserMissing() }, async () => {
  const found = await scale({ topics: 300, groups: 60, rate: 300, seconds: 1 });
  assert.ok(found.topics >= 300 && found.groups === 60, `${found.topics} topics, ${found.groups} groups`);
  for (const { path, bytes } of found.listed.filter((list) => /^.(topics|groups|connections)/.test(list.path))) {
    assert.ok(bytes < PAGE_BYTES, `${path}: ${bytes} bytes`);
  }
  assert.ok(found.perSecond > 0 && found.readPerSecond > 0, `${found.perSecond} and ${found.readPerSecond} a second`);
  assert.deepEqual(found.troubles, []);
});
