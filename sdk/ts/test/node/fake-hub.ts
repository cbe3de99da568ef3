/**
 * A hub of a few lines behind the transport, for what a real one does not do on demand: rate limits, silence,
 * nonsense. It answers AUTH and PUBLISH by itself, and everything else with `OK`, unless `answer` returns something else.
 */

import type { Transport, TransportListener, TransportSocket } from "../../src/index.js";

export type Frame = Readonly<Record<string, any>>;

export class FakeHub implements Transport {
  /** What the client sent, over all connections. */
  readonly frames: Frame[] = [];
  readonly sockets: FakeSocket[] = [];
  /** Texts of the frames that left in one write. */
  readonly writes: Frame[][] = [];
  pings = 0;
  /** Connections fail. */
  isDown = false;
  isSilent = false;
  /** When a ping is answered; soon by default. */
  pong: (answer: () => void) => void = (answer) => setTimeout(answer);
  /** Whether pings can be sent, as in Node. */
  canPing = true;
  welcome: Frame = { hub: "fake", features: ["batch"], frame_bytes: 1 << 20, connection: "fake-1" };
  /** Gives the answer to a frame: several, none, or `undefined` for the usual one. */
  answer: (frame: Frame) => Frame[] | undefined = () => undefined;
  #offset = 0;

  open(_url: string, listener: TransportListener): TransportSocket {
    const socket = new FakeSocket(this, listener);
    this.sockets.push(socket);
    queueMicrotask(() => (this.isDown ? socket.drop(1006) : listener.onOpen()));
    return socket;
  }

  /** The current connection. */
  get socket(): FakeSocket {
    const socket = this.sockets.at(-1);
    if (socket === undefined) throw new Error("no client has connected");
    return socket;
  }

  sent(op: string): Frame[] {
    return this.frames.filter((frame) => frame["op"] === op);
  }

  usual(frame: Frame): Frame[] {
    const { op, corr } = frame;
    if (op === "AUTH") return [{ op: "OK", corr, ...this.welcome }];
    if (op !== "PUBLISH") return [{ op: "OK", corr }];
    return [{ op: "OK", corr, durability: "memory", results: frame["events"].map(() => [0, this.#offset++, 1]) }];
  }
}

export class FakeSocket implements TransportSocket {
  wantsMore = true;
  closedWith: number | undefined;
  ping?: () => void;
  #waiting: Frame[] = [];
  #isOver = false;

  constructor(
    private readonly hub: FakeHub,
    private readonly listener: TransportListener,
  ) {
    if (!hub.canPing) return;
    this.ping = () => {
      hub.pings++;
      if (!hub.isSilent) hub.pong(() => this.#isOver || listener.onAlive());
    };
  }

  send(text: string): void {
    this.#waiting.push(JSON.parse(text) as Frame);
  }

  flush(): void {
    const frames = this.#waiting.splice(0);
    if (frames.length === 0) return;
    this.hub.writes.push(frames);
    for (const frame of frames) {
      this.hub.frames.push(frame);
      if (this.hub.isSilent) continue;
      const answers = this.hub.answer(frame) ?? this.hub.usual(frame);
      setTimeout(() => answers.forEach((answer) => this.say(answer)));
    }
  }

  /** Sends a frame from the hub to the listener. */
  say(frame: Frame | string): void {
    if (!this.#isOver) this.listener.onText(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  drained(): void {
    this.wantsMore = true;
    this.listener.onDrained();
  }

  /** The hub, or the network, ends it. */
  drop(code: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.listener.onClose(code, "");
  }

  close(code: number): void {
    this.closedWith = code;
    setTimeout(() => this.drop(code));
  }

  abort(): void {
    this.#isOver = true;
  }
}
