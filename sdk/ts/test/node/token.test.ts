/** Tokens against a real hub that requires them. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";

import { type Harness, startHarness } from "../../src/harness.js";
import { type Notice, PromClient } from "../../src/index.js";
import { rejectsWithCode, until, within } from "../scenarios/expectations.js";

const SECRET = "a secret that is long enough for a test of tokens";
/** How long the hub still accepts an expired token. */
const TOLERANCE_MS = 5000;
let harness: Harness;

before(async () => {
  harness = await startHarness({ env: { JWT_SECRET: SECRET } });
});

after(() => harness.close());

function token(claims: object = {}): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const usual = { sub: "alpha", scopes: ["publish:a.**", "subscribe:a.**"], exp };
  const text = `${part({ alg: "HS256", typ: "JWT" })}.${part({ ...usual, ...claims })}`;
  return `${text}.${createHmac("sha256", SECRET).update(text).digest("base64url")}`;
}

test("a hub that requires a token refuses a missing or wrong one and accepts a right one", async () => {
  await rejectsWithCode(new PromClient(harness.url).connect(), "no_token");
  await rejectsWithCode(new PromClient(harness.url, "nonsense").connect(), "jwt_invalid");
  const client = new PromClient(harness.url, token());
  await client.connect();
  assert.equal((await client.publish("a.b", 1)).offset, 0);
  await rejectsWithCode(client.publish("b.a", 1), "forbidden");
  await rejectsWithCode(
    client.subscribe("**", "g", () => {}),
    "forbidden",
  );
  await client.close();
});

test("work that waits for a hub that refuses the token is told so", async () => {
  const client = new PromClient(harness.url, "nonsense");
  await rejectsWithCode(client.publish("a.b", 1), "closed");
  assert.equal(client.state, "closed");
});

test("a token function keeps a connection alive beyond the life of its tokens", async () => {
  const notices: Notice[] = [];
  let asked = 0;
  const shortLived = () => {
    asked++;
    return token({ exp: Math.floor(Date.now() / 1000) - 1 });
  };
  const client = new PromClient(harness.url, shortLived, { onNotice: (notice) => notices.push(notice) });
  const seen: unknown[] = [];
  await client.subscribe("a.c", "g", ({ payload }) => seen.push(payload));
  const firstEndsAt = Date.now() + TOLERANCE_MS;
  await until(() => asked >= 2 && Date.now() > firstEndsAt, "the end of the first token");
  await client.publish("a.c", 1);
  await until(() => seen.length === 1, "the event");
  assert.deepEqual(
    notices.map(({ type }) => type),
    ["connected"],
  );
  await client.close();
});

test("a fresh token with fewer rights ends the subscriptions it does not cover, and says so", async () => {
  let scopes = ["subscribe:a.**"];
  const give = () => token({ scopes, exp: Math.floor(Date.now() / 1000) - 2 });
  const client = new PromClient(harness.url, give);
  const subscription = await client.subscribe("a.d", "g", () => {});
  scopes = ["subscribe:b.**"];
  assert.equal((await within(subscription.ended, "the end"))?.code, "forbidden");
  assert.equal(client.state, "connected");
  await client.close();
});

test("a token that expires ends the connection, and a fixed one then ends the client", async () => {
  const notices: Notice[] = [];
  const exp = Math.floor(Date.now() / 1000) - 3;
  const client = new PromClient(harness.url, token({ exp }), { onNotice: (notice) => notices.push(notice) });
  await client.connect();
  await until(() => client.state === "closed", "the end");
  const lost = notices.find((notice) => notice.type === "disconnected");
  assert.equal(lost?.code, 4101);
  const end = notices.at(-1);
  assert.equal(end?.type === "closed" && end.error?.code, "jwt_expired");
});
