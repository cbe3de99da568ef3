/** Making a connection: the token, the socket, AUTH. One attempt, within its time limit. */

import { reconnectAfter } from "../codes.js";
import { closedError, errorOf, type Problem, PromError, reasonOf } from "../error.js";
import { BATCH, ORDERED, type HubFrame, type OkFrame, readFrame } from "../frame.js";
import type { TransportListener, TransportSocket } from "../transport/transport.js";
import type { Connection } from "./connection.js";

/** A connection that the hub has let in. The next listener must be set before anything else arrives. */
export interface Link {
  readonly socket: TransportSocket;
  readonly welcome: OkFrame;
  readonly setListener: (listener: TransportListener) => void;
}

/** `unreachable`: a retry may help; `token`: another token may help; `refused`: a retry cannot help. */
export type DialFailure = { readonly kind: "unreachable" | "token" | "refused"; readonly error: PromError };

export type DialOutcome = { readonly link: Link } | { readonly failure: DialFailure };

export function authText(corr: number, token: string | undefined, whenRateLimited: "retry" | "fail"): string {
  const tokenText = token === undefined ? "" : `,"token":${JSON.stringify(token)}`;
  const features = whenRateLimited === "retry" ? [BATCH, ORDERED] : [BATCH];
  return `{"op":"AUTH","corr":${corr}${tokenText},"features":${JSON.stringify(features)}}`;
}

/** Reports the outcome once, unless it is abandoned before. */
export class Dialing implements TransportListener {
  #socket: TransportSocket | undefined;
  #token: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;
  /** The listener for everything after AUTH. */
  #next: TransportListener | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly tell: (outcome: DialOutcome) => void,
  ) {
    const { connectTimeoutMs } = connection.settings;
    this.#timer = setTimeout(() => this.#unreachable(`no answer within ${connectTimeoutMs} ms`), connectTimeoutMs);
    connection.token.fetch().then(
      (token) => this.#open(token),
      (error: unknown) => this.#fail("token", error as PromError),
    );
  }

  abandon(): void {
    if (this.#isOver) return;
    this.#end();
    this.#socket?.abort();
  }

  #open(token: string | undefined): void {
    if (this.#isOver) return;
    this.#token = token;
    try {
      this.#socket = this.connection.transport.open(this.connection.url, this);
    } catch (thrown) {
      this.#unreachable(reasonOf(thrown));
    }
  }

  onOpen(): void {
    // Nothing else is sent before the answer, which says what the hub supports.
    this.#socket?.send(authText(0, this.#token, this.connection.settings.whenRateLimited));
    this.#socket?.flush();
  }

  onText(text: string): void {
    if (this.#next !== undefined) return this.#next.onText(text);
    let frame: HubFrame;
    try {
      frame = readFrame(text);
    } catch (thrown) {
      return this.#unreachable(`AUTH was answered oddly: ${reasonOf(thrown)}`);
    }
    if (frame.op === "OK") this.#welcomed(frame);
    else if (frame.op === "ERR") this.#refused(frame);
    else this.#unreachable(`AUTH was answered oddly: with ${frame.op}`);
  }

  #welcomed(welcome: OkFrame): void {
    if (this.#isOver || this.#socket === undefined) return;
    if (welcome.features?.includes(BATCH) !== true) {
      const message = `this hub (${welcome.hub ?? "unknown"}) does not take frames with many events`;
      return this.#fail("refused", new PromError("unsupported", message));
    }
    this.#end();
    const setListener = (listener: TransportListener) => (this.#next = listener);
    this.tell({ link: { socket: this.#socket, welcome, setListener } });
  }

  #refused(problem: Problem): void {
    switch (problem.code) {
      case "jwt_invalid":
      case "jwt_expired":
      case "no_token":
        return this.#fail("token", errorOf(problem));
      case "overloaded":
      case "internal":
      case "rate_limited":
        return this.#unreachable(problem.msg);
      default:
        return this.#fail("refused", errorOf(problem));
    }
  }

  onAlive(): void {
    this.#next?.onAlive();
  }

  onDrained(): void {
    this.#next?.onDrained();
  }

  onClose(code: number, reason: string): void {
    if (this.#next !== undefined) return this.#next.onClose(code, reason);
    const told = reason === "" ? `the connection was closed with ${code}` : reason;
    const reconnect = reconnectAfter(code);
    if (reconnect === "yes") this.#unreachable(told);
    else if (reconnect === "no") this.#fail("refused", closedError(told));
    else this.#fail("token", new PromError("unauthorized", told));
  }

  #unreachable(reason: string): void {
    const message = `cannot reach the hub at ${this.connection.url}: ${reason}`;
    this.#fail("unreachable", new PromError("unreachable", message));
  }

  #fail(kind: DialFailure["kind"], error: PromError): void {
    if (this.#isOver) return;
    this.#end();
    this.#socket?.abort();
    this.tell({ failure: { kind, error } });
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}
