/**
 * Frames over a TCP or TLS socket of Node. A small WebSocket of the client: Node 20 has none, and this one does only what a
 * hub needs.
 */

import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import { reasonOf } from "../error.js";
import { READ_BYTES, WRITE_BYTES } from "../limits.js";
import { Decoder, type FrameListener } from "./decode.js";
import { encodeClose, encodeControl, encodeText, OPCODE } from "./encode.js";
import { type Upgrade, upgrade } from "./handshake.js";
import type { Transport, TransportListener, TransportSocket } from "./transport.js";

/** No close came. */
const ABNORMAL = 1006;

export class NodeTransport implements Transport {
  constructor(private readonly ca?: string) {}

  open(url: string, listener: TransportListener): TransportSocket {
    return new NodeSocket(new URL(url), this.ca, listener);
  }
}

class NodeSocket implements TransportSocket, FrameListener {
  readonly #socket: Socket;
  readonly #upgrade: Upgrade;
  readonly #decoder = new Decoder(this);
  /** What has come of the answer to the upgrade; `undefined` once it is complete. */
  #answer: Buffer | undefined = Buffer.alloc(0);
  /** Why it ended, if the hub did not say. */
  #reason = "the hub hung up";
  #isOver = false;

  constructor(
    url: URL,
    ca: string | undefined,
    private readonly listener: TransportListener,
  ) {
    this.#upgrade = upgrade(url);
    this.#socket = connect(url, ca, (bytes) => this.#hear(bytes));
    // Writes are gathered here already.
    this.#socket.setNoDelay(true);
    this.#socket.on(url.protocol === "wss:" ? "secureConnect" : "connect", () =>
      this.#socket.write(this.#upgrade.request),
    );
    this.#socket.on("drain", () => listener.onDrained());
    this.#socket.on("error", (error) => (this.#reason = reasonOf(error)));
    this.#socket.on("close", () => this.#end(ABNORMAL, this.#reason));
  }

  #hear(bytes: Buffer): void {
    try {
      const frames = this.#answer === undefined ? bytes : this.#open(this.#answer, bytes);
      if (frames !== undefined && frames.length > 0) this.#decoder.push(frames);
    } catch (thrown) {
      this.#reason = reasonOf(thrown);
      this.#socket.destroy();
    }
  }

  /** Returns the bytes after the answer to the upgrade. */
  #open(before: Buffer, bytes: Buffer): Buffer | undefined {
    const answer = Buffer.concat([before, bytes]);
    const agreed = this.#upgrade.read(answer);
    this.#answer = agreed === undefined ? answer : undefined;
    if (agreed !== undefined) this.listener.onOpen();
    return agreed?.rest;
  }

  // What the hub sends.

  onText(text: string): void {
    if (!this.#isOver) this.listener.onText(text);
  }

  onPing(payload: Buffer): void {
    this.#socket.write(encodeControl(OPCODE.pong, payload));
    this.onPong();
  }

  onPong(): void {
    if (!this.#isOver) this.listener.onAlive();
  }

  onClose(code: number, reason: string): void {
    // The answer to a close is a close; then the socket ends.
    this.#socket.end(encodeClose(code === 1005 ? 1000 : code, ""));
    this.#socket.destroySoon();
    this.#end(code, reason);
  }

  // What the client sends.

  send(text: string): void {
    if (!this.#socket.writable) return;
    // Many texts become one write.
    this.#socket.cork();
    this.#socket.write(encodeText(text));
  }

  flush(): void {
    while (this.#socket.writableCorked > 0) this.#socket.uncork();
  }

  get wantsMore(): boolean {
    return this.#socket.writableLength < WRITE_BYTES;
  }

  readonly ping = (): void => {
    this.#socket.write(encodeControl(OPCODE.ping, new Uint8Array(0)));
  };

  close(code: number, reason: string): void {
    this.#socket.write(encodeClose(code, reason));
  }

  abort(): void {
    this.#isOver = true;
    this.#socket.destroy();
  }

  #end(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.listener.onClose(code, reason);
  }
}

function connect(url: URL, ca: string | undefined, hear: (bytes: Buffer) => void): Socket {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = url.port === "" ? (url.protocol === "wss:" ? 443 : 80) : Number(url.port);
  if (url.protocol === "ws:") return connectTcp({ host, port, onread: reading(hear) });
  const name = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ host, port, ...name, ...(ca === undefined ? {} : { ca }) }).on("data", hear);
}

/** Always reads into the same buffer: nothing keeps what was read. */
function reading(hear: (bytes: Buffer) => void): { buffer: Uint8Array; callback: (length: number) => boolean } {
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  const callback = (length: number) => {
    hear(buffer.subarray(0, length));
    return true;
  };
  return { buffer, callback };
}
