/** The WebSocket of the Node transport: frames in and out, byte by byte. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { Decoder } from "../../src/transport/decode.js";
import { encodeClose, encodeControl, encodeText, OPCODE } from "../../src/transport/encode.js";
import { upgrade } from "../../src/transport/handshake.js";

/** As a hub sends it: not masked. */
function frame(opcode: number, payload: Buffer, isFinal = true): Buffer {
  const { length } = payload;
  const head = length < 126 ? Buffer.alloc(2) : length < 65536 ? Buffer.alloc(4) : Buffer.alloc(10);
  head[0] = (isFinal ? 0x80 : 0) | opcode;
  head[1] = length < 126 ? length : length < 65536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

function heard(pieces: readonly Buffer[]): string[] {
  const said: string[] = [];
  const decoder = new Decoder({
    onText: (text) => said.push(text),
    onPing: (payload) => said.push(`ping ${payload}`),
    onPong: () => said.push("pong"),
    onClose: (code, reason) => said.push(`close ${code} ${reason}`),
  });
  for (const piece of pieces) decoder.push(Buffer.from(piece));
  return said;
}

function cut(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

/** Takes a masked frame apart, as a hub does. */
function unmasked(bytes: Buffer): { opcode: number; payload: Buffer } {
  assert.equal((bytes[1] as number) & 0x80, 0x80, "clients have to mask");
  const short = (bytes[1] as number) & 0x7f;
  const head = short < 126 ? 2 : short === 126 ? 4 : 10;
  const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const key = bytes.subarray(head, head + 4);
  const payload = Buffer.from(bytes.subarray(head + 4)).map((byte, at) => byte ^ (key[at % 4] as number));
  assert.equal(payload.length, length);
  return { opcode: (bytes[0] as number) & 0x0f, payload: Buffer.from(payload) };
}

test("texts of every size and script survive their frames", () => {
  const texts = [
    "",
    "a",
    "ä€🦀",
    "x".repeat(125),
    "x".repeat(126),
    "y".repeat(65_535),
    "z".repeat(65_536),
    "🦀".repeat(200_000),
  ];
  for (const text of texts) {
    const { opcode, payload } = unmasked(encodeText(text));
    assert.equal(opcode, OPCODE.text);
    assert.equal(payload.toString(), text);
  }
});

test("every frame has its own key", () => {
  const keys = Array.from({ length: 2000 }, () => encodeText("the same").subarray(2, 6).toString("hex"));
  assert.ok(new Set(keys).size > 1990);
});

test("frames are read in whatever pieces they come", () => {
  const texts = ["", "short", "ä€🦀", "x".repeat(126), "y".repeat(70_000)];
  const control = [frame(OPCODE.ping, Buffer.from("hi")), frame(OPCODE.pong, Buffer.alloc(0))];
  const bytes = Buffer.concat([...texts.map((text) => frame(OPCODE.text, Buffer.from(text))), ...control]);
  for (const size of [1, 2, 3, 7, 64, 1000, 65_536, bytes.length]) {
    assert.deepEqual(heard(cut(bytes, size)), [...texts, "ping hi", "pong"], `in pieces of ${size}`);
  }
});

test("a text may come in several frames, with pings between them", () => {
  const [one, two, three] = ["ab", "cd", "ef"].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];
  const frames = [
    frame(OPCODE.text, one, false),
    frame(OPCODE.ping, Buffer.alloc(0)),
    frame(OPCODE.continuation, two, false),
    frame(OPCODE.continuation, three),
  ];
  assert.deepEqual(heard(frames), ["ping ", "abcdef"]);
});

test("a close ends everything, with or without a reason", () => {
  const reason = Buffer.concat([Buffer.from([0x10, 0x68]), Buffer.from("bye")]);
  assert.deepEqual(heard([frame(OPCODE.close, reason), frame(OPCODE.text, Buffer.from("late"))]), ["close 4200 bye"]);
  assert.deepEqual(heard([frame(OPCODE.close, Buffer.alloc(0))]), ["close 1005 "]);
  assert.deepEqual([...unmasked(encodeClose(1000, "")).payload], [0x03, 0xe8]);
  assert.equal(unmasked(encodeControl(OPCODE.pong, Buffer.from("hi"))).payload.toString(), "hi");
});

test("what breaks the rules of WebSocket is an error", () => {
  const rude: [string, Buffer][] = [
    ["a masked frame", Buffer.from([0x81, 0x80, 0, 0, 0, 0])],
    ["an extension", Buffer.from([0xc1, 0x00])],
    ["a binary frame", frame(0x2, Buffer.from("x"))],
    ["a continuation of nothing", frame(OPCODE.continuation, Buffer.from("x"))],
    ["a control frame in pieces", frame(OPCODE.ping, Buffer.from("x"), false)],
    ["a control frame that is too long", frame(OPCODE.ping, Buffer.alloc(126))],
    ["a frame of terabytes", Buffer.from([0x81, 127, 0, 0, 0xff, 0, 0, 0, 0, 0])],
    [
      "a text within another",
      Buffer.concat([frame(OPCODE.text, Buffer.from("a"), false), frame(OPCODE.text, Buffer.from("b"))]),
    ],
  ];
  for (const [name, bytes] of rude) assert.throws(() => heard([bytes]), Error, name);
});

test("the upgrade is taken only from who knows the key", () => {
  const { request, read } = upgrade(new URL("ws://127.0.0.1:8090/ws?x=1"));
  assert.match(request, /^GET \/ws\?x=1 HTTP\/1\.1\r\nHost: 127\.0\.0\.1:8090\r\n/);
  const key = /Sec-WebSocket-Key: (\S+)/.exec(request)?.[1];
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const answer = (status: string, accepted: string) =>
    Buffer.from(`HTTP/1.1 ${status}\r\nUpgrade: websocket\r\nsec-websocket-accept: ${accepted}\r\n\r\nrest`);
  assert.equal(read(answer("101 Switching Protocols", accept))?.rest.toString(), "rest");
  assert.equal(read(answer("101 Switching Protocols", accept).subarray(0, 40)), undefined);
  assert.throws(() => read(answer("101 Switching Protocols", "wrong")), /Sec-WebSocket-Accept/);
  assert.throws(() => read(answer("503 Service Unavailable", accept)), /503/);
  assert.throws(() => read(Buffer.alloc(20_000, "x")), /too much/);
});
