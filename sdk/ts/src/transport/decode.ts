/**
 * WebSocket frames out of the bytes that come, in whatever pieces they come. Texts of several frames are put together.
 *
 * Promises: a frame is copied at most once, however many pieces it comes in, and only if it comes in several; what breaks the rules of
 * RFC 6455, or is larger than any hub sends, is an error.
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

export class Decoder {
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Nothing can be read before so many bytes are there. */
  #needed = 2;
  /** The beginning of a text that comes in several frames. */
  #begun: Buffer[] = [];
  #begunBytes = 0;
  #isClosed = false;

  constructor(private readonly listener: FrameListener) {}

  /** Throws where the bytes are no WebSocket. */
  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes < this.#needed) return;
    const all = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces, this.#bytes);
    let at = 0;
    this.#needed = 2;
    while (!this.#isClosed) {
      const head = readHead(all, at);
      if (head === undefined) break;
      const end = at + head.size + head.length;
      if (end > all.length) {
        this.#needed = end - at;
        break;
      }
      this.#frame(head, all.subarray(at + head.size, end));
      at = end;
    }
    const rest = all.subarray(at);
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
    // A head that is incomplete needs at least one byte more.
    this.#needed = Math.max(this.#needed, this.#bytes + 1);
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
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : bytes.readUInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6);
  if (length > HUB_FRAME_BYTES) throw new Error(`a frame of ${length} bytes`);
  return { isFinal, opcode, size, length };
}

/** Most texts have only ASCII, which is found out and copied much faster than UTF-8 is decoded. */
function textOf(payload: Buffer): string {
  return payload.toString(isAscii(payload) ? "latin1" : "utf8");
}
