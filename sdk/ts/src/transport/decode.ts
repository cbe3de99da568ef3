/**
 * WebSocket frames from bytes that arrive in pieces of any size. Fragmented texts are joined.
 *
 * Promises: a frame is copied at most once before it becomes a text, however many pieces it comes in, and not at all if
 * it comes in one; the pieces may be overwritten afterwards. A violation of RFC 6455, or a frame larger than any hub
 * sends, is an error.
 */

import { isAscii } from "node:buffer";

import { HUB_FRAME_BYTES } from "../limits.js";
import { OPCODE } from "./encode.js";

export interface FrameListener {
  onText(text: string): void;
  onPing(payload: Buffer): void;
  onPong(): void;
  onClose(code: number, reason: string): void;
}

interface Head {
  readonly isFinal: boolean;
  readonly opcode: number;
  readonly size: number;
  readonly length: number;
}

/** The longest header of an unmasked frame. */
const HEAD_BYTES = 10;

export class Decoder {
  /** The beginning of an incomplete header. */
  #headStart = Buffer.alloc(0);
  /** The frame whose payload comes in pieces, and how much of it has come. */
  #head: Head | undefined;
  #filled = 0;
  /** Where it is joined; reused for the next. */
  #payload = Buffer.alloc(0);
  /** The beginning of a fragmented text. */
  #begun: Buffer[] = [];
  #begunBytes = 0;
  #isClosed = false;

  constructor(private readonly listener: FrameListener) {}

  /** Throws if the bytes are not WebSocket. */
  push(piece: Buffer): void {
    let at = 0;
    while (at < piece.length && !this.#isClosed) {
      at = this.#head === undefined ? this.#begin(piece, at) : this.#fill(this.#head, piece, at);
    }
  }

  /** Reads a header, and its payload if all of it is there. Returns where it got to. */
  #begin(piece: Buffer, at: number): number {
    const before = this.#headStart.length;
    const bytes = before === 0 ? piece : Buffer.concat([this.#headStart, piece.subarray(at, at + HEAD_BYTES)]);
    const start = before === 0 ? at : 0;
    const head = readHead(bytes, start);
    if (head === undefined) {
      this.#headStart = Buffer.from(bytes.subarray(start));
      return piece.length;
    }
    this.#headStart = Buffer.alloc(0);
    const payloadAt = at + head.size - before;
    const end = payloadAt + head.length;
    if (end <= piece.length) {
      this.#frame(head, piece.subarray(payloadAt, end));
      return end;
    }
    this.#head = head;
    this.#filled = 0;
    if (this.#payload.length < head.length) this.#payload = Buffer.allocUnsafeSlow(head.length);
    return payloadAt;
  }

  #fill(head: Head, piece: Buffer, at: number): number {
    const end = Math.min(piece.length, at + head.length - this.#filled);
    piece.copy(this.#payload, this.#filled, at, end);
    this.#filled += end - at;
    if (this.#filled === head.length) {
      this.#head = undefined;
      this.#frame(head, this.#payload.subarray(0, head.length));
    }
    return end;
  }

  #frame({ opcode, isFinal }: Head, payload: Buffer): void {
    switch (opcode) {
      case OPCODE.text:
        if (this.#begun.length > 0) throw new Error("a text began within another");
        if (isFinal) return this.listener.onText(textOf(payload));
        return this.#keep(payload);
      case OPCODE.continuation:
        if (this.#begun.length === 0) throw new Error("a text went on that had not begun");
        this.#keep(payload);
        if (isFinal) this.#finish();
        return;
      case OPCODE.ping:
        return this.listener.onPing(payload);
      case OPCODE.pong:
        return this.listener.onPong();
      case OPCODE.close:
        this.#isClosed = true;
        return payload.length < 2
          ? this.listener.onClose(1005, "")
          : this.listener.onClose(payload.readUInt16BE(), payload.toString("utf8", 2));
      default:
        throw new Error(`a frame of kind ${opcode}`);
    }
  }

  #keep(payload: Buffer): void {
    this.#begunBytes += payload.length;
    if (this.#begunBytes > HUB_FRAME_BYTES) throw new Error(`a text of more than ${HUB_FRAME_BYTES} bytes`);
    this.#begun.push(Buffer.from(payload));
  }

  #finish(): void {
    const text = textOf(Buffer.concat(this.#begun, this.#begunBytes));
    this.#begun = [];
    this.#begunBytes = 0;
    this.listener.onText(text);
  }
}

function readHead(bytes: Buffer, at: number): Head | undefined {
  if (bytes.length < at + 2) return undefined;
  const [first, second] = [bytes[at] as number, bytes[at + 1] as number];
  if ((first & 0x70) !== 0) throw new Error("a frame with an extension that was not agreed on");
  if ((second & 0x80) !== 0) throw new Error("a masked frame from the hub");
  const [isFinal, opcode, short] = [(first & 0x80) !== 0, first & 0x0f, second & 0x7f];
  if (opcode >= OPCODE.close && (short > 125 || !isFinal)) throw new Error("a control frame that is too long");
  const size = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (bytes.length < at + size) return undefined;
  const length =
    short < 126
      ? short
      : short === 126
        ? bytes.readUInt16BE(at + 2)
        : bytes.readUInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6);
  if (length > HUB_FRAME_BYTES) throw new Error(`a frame of ${length} bytes`);
  return { isFinal, opcode, size, length };
}

/** Most texts are plain ASCII, which is detected and copied much faster than UTF-8 is decoded. */
function textOf(payload: Buffer): string {
  return payload.toString(isAscii(payload) ? "latin1" : "utf8");
}
