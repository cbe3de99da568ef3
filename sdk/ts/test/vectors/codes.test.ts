/** The tables of codes say what `protocol/codes.json` says. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { CLOSE_CODES, ERROR_CODES, isErrorCode, reconnectAfter } from "../../src/codes.js";
import { vectorsFolder } from "./read-vectors.js";

interface Source {
  readonly errors: readonly { code: string; http: number; retry: string; meaning: string; fix: string }[];
  readonly closes: readonly { code: number; name: string; reconnect: string; meaning: string }[];
}

const source = JSON.parse(readFileSync(`${vectorsFolder()}/../codes.json`, "utf8")) as Source;

test("every error code is there with its facts", () => {
  assert.deepEqual(Object.keys(ERROR_CODES), source.errors.map(({ code }) => code));
  for (const { code, http, retry, meaning, fix } of source.errors) {
    assert.ok(isErrorCode(code));
    assert.deepEqual(ERROR_CODES[code], { httpStatus: http, retry, meaning, fix });
  }
  for (const unknown of ["", "toString", "not_a_code"]) assert.equal(isErrorCode(unknown), false);
});

test("every close code says whether to come back, and unknown ones go by their range", () => {
  for (const { code, name, reconnect, meaning } of source.closes) {
    assert.deepEqual(CLOSE_CODES[code], { name, reconnect, meaning });
    assert.equal(reconnectAfter(code), reconnect, name);
  }
  assert.deepEqual([1006, 4050, 4150, 4250, 4300].map(reconnectAfter), ["yes", "yes", "with_token", "no", "yes"]);
});
