/** Frames over the platform's WebSocket: browsers, workers, Deno, Bun. */

import { WRITE_BYTES } from "../limits.js";
import type { Transport, TransportListener, TransportSocket } from "./transport.js";

/** A browser does not say when sent data has left; while too much waits, it is checked at this interval. */
const LOOK_AGAIN_MS = 5;

export class BrowserTransport implements Transport {
  open(url: string, listener: TransportListener): TransportSocket {
    return new BrowserSocket(new WebSocket(url), listener);
  }
}

class BrowserSocket implements TransportSocket {
  readonly #socket: WebSocket;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    socket: WebSocket,
    private readonly listener: TransportListener,
  ) {
    this.#socket = socket;
    socket.onopen = () => listener.onOpen();
    socket.onmessage = ({ data }: MessageEvent) => {
      if (typeof data === "string") listener.onText(data);
      else this.#end(1003, "the hub sent a binary message");
    };
    // It says nothing that the close does not say.
    socket.onerror = () => {};
    socket.onclose = ({ code, reason }: CloseEvent) => this.#end(code, reason);
  }

  send(text: string): void {
    // Closing sockets drop what they are given, and report it by `onclose`.
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  flush(): void {
    if (!this.wantsMore) this.#lookAgain();
  }

  get wantsMore(): boolean {
    return this.#socket.bufferedAmount < WRITE_BYTES;
  }

  #lookAgain(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.wantsMore) this.listener.onDrained();
      else if (this.#socket.readyState === WebSocket.OPEN) this.#lookAgain();
    }, LOOK_AGAIN_MS);
  }

  close(code: number, reason: string): void {
    // Pages may only send 1000 and private codes.
    this.#socket.close(code === 1000 ? 1000 : 4999, reason);
  }

  abort(): void {
    this.#forget();
    this.#socket.close();
  }

  #end(code: number, reason: string): void {
    this.#forget();
    this.listener.onClose(code, reason);
  }

  #forget(): void {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    socket.onopen = socket.onmessage = socket.onclose = null;
  }
}
