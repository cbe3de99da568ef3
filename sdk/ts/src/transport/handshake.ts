/** The upgrade from HTTP to WebSocket, according to RFC 6455: no subprotocol, no extension. */

import { createHash, randomBytes } from "node:crypto";

/** The constant that RFC 6455 mixes with the key. */
const ACCEPT_SALT = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** An answer to an upgrade is never longer. */
const HEAD_BYTES = 16 * 1024;

export interface Upgrade {
  readonly request: string;
  /** `undefined` while the answer is incomplete. Throws if it is not an agreement. */
  read(answer: Buffer): { readonly rest: Buffer } | undefined;
}

export function upgrade(url: URL): Upgrade {
  const key = randomBytes(16).toString("base64");
  const lines = [
    `GET ${url.pathname}${url.search} HTTP/1.1`,
    `Host: ${url.host}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    `Sec-WebSocket-Key: ${key}`,
    "User-Agent: promethean-client-ts",
  ];
  return { request: `${lines.join("\r\n")}\r\n\r\n`, read: (answer) => read(answer, key) };
}

function read(answer: Buffer, key: string): { rest: Buffer } | undefined {
  const end = answer.indexOf("\r\n\r\n");
  if (end < 0) {
    if (answer.length > HEAD_BYTES) throw new Error("the upgrade to WebSocket was answered with too much");
    return undefined;
  }
  const [status = "", ...fields] = answer.subarray(0, end).toString("latin1").split("\r\n");
  if (!/^HTTP\/1\.1 101\b/.test(status)) {
    throw new Error(`the upgrade to WebSocket was answered with ${JSON.stringify(status.slice(0, 100))}`);
  }
  const expected = createHash("sha1")
    .update(key + ACCEPT_SALT)
    .digest("base64");
  const accepted = fields.map((field) => /^sec-websocket-accept:\s*(\S+)\s*$/i.exec(field)?.[1]).find(Boolean);
  if (accepted !== expected) throw new Error("the upgrade was answered without the right Sec-WebSocket-Accept");
  return { rest: answer.subarray(end + 4) };
}
