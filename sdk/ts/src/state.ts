/** What a client tells about its connection: its state, and notices of what happens. */

import type { PromError } from "./error.js";
import { Warner } from "./warn.js";

/** `idle` until something is to be done; `closed` for good: by the application, or refused by the hub. */
export type State = "idle" | "connecting" | "connected" | "closed";

/** Events of one partition that should have come and are gone: from `from` up to, not including, `to`. */
export interface Gap {
  /** The topic they were in. */
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  /** `retention`, `damage`, … */
  readonly reason: string;
}

/** Partitions of one topic, of which a member of a partitioned group is the only one to get events. */
export interface Assignment {
  /** The topic they are of. */
  readonly topic: string;
  readonly partitions: readonly number[];
}

/** Something that happened. */
export type Notice =
  | {
      readonly type: "connected";
      readonly hub: string;
      /** What the hub's logs call this connection. */
      readonly connection: string;
      /** True if there was one before that was lost. */
      readonly isReconnect: boolean;
      /** Publishes that were under way when the last connection broke and are sent again, with the same ids. */
      readonly resentEvents: number;
      /** Subscriptions that are made anew. */
      readonly resubscribing: number;
    }
  | {
      readonly type: "disconnected";
      readonly reason: string;
      /** The WebSocket close code, if one came. */
      readonly code: number | undefined;
      /** Publishes that were under way. */
      readonly unansweredEvents: number;
    }
  /** An attempt to connect failed; the next follows. */
  | { readonly type: "not_connected"; readonly reason: string; readonly retryInMs: number }
  /** A subscription goes on over a new connection: what had been delivered and not settled comes again. */
  | { readonly type: "resubscribed"; readonly topic: string; readonly group: string | undefined }
  | { readonly type: "gap"; readonly topic: string; readonly group: string | undefined; readonly gap: Gap }
  /** A subscription ended, and not because the application asked for it. */
  | {
      readonly type: "subscription_ended";
      readonly topic: string;
      readonly group: string | undefined;
      readonly error: PromError;
    }
  /** A handler threw. With a group the event was nacked; without one it is passed over. */
  | {
      readonly type: "handler_failed";
      readonly topic: string;
      readonly group: string | undefined;
      readonly eventId: string;
      readonly error: unknown;
    }
  /**
   * Publishes come too fast for the hub; they are sent again when it takes them, in order. At most once a second, for
   * as long as it lasts.
   */
  | { readonly type: "publishing_slowed"; readonly reason: string; readonly retryInMs: number }
  /** No fresh token could be had; it is tried again. */
  | { readonly type: "token_failed"; readonly reason: string }
  /** The end, with what the hub refused if it was not asked for. */
  | { readonly type: "closed"; readonly error: PromError | undefined };

export type NoticeListener = (notice: Notice) => void;

/** Keeps the listeners; without any, trouble is written to the console. */
export class Teller {
  state: State = "idle";
  readonly #warner = new Warner();
  readonly #listeners = new Set<NoticeListener>();

  listen(listener: NoticeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(notice: Notice): void {
    if (this.#listeners.size === 0) this.#warner.hear(notice);
    for (const listener of this.#listeners) callOutside(() => listener(notice));
  }
}

/** What an application's callback throws is the application's: it is thrown again where the runtime reports it. */
export function callOutside(callback: () => unknown): void {
  try {
    callback();
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown;
    });
  }
}
