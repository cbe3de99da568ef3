/** What a client reports about its connection: its state, and notices of what happens. */

import type { PromError } from "./error.js";
import { Warner } from "./warn.js";

/** `idle` until there is something to do; `closed` is final: by the application, or refused by the hub. */
export type State = "idle" | "connecting" | "connected" | "closed";

/** Events of one partition that are gone before they came: from `from` up to, not including, `to`. */
export interface Gap {
  /** The topic they were in. */
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  /** `retention`, `damage`, … */
  readonly reason: string;
}

/** What a subscription without a group left out since it was last told: all, those that passed its filter, those that came. */
export interface Thinned {
  readonly seen: number;
  readonly matched: number;
  readonly sent: number;
  /** The filter failed on them; they did not come. */
  readonly failed: number;
  /** Why, for the first of them. */
  readonly error?: string;
}

/** Partitions of one topic whose events only this member gets. */
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
      /** The hub's name for this connection in its logs. */
      readonly connection: string;
      /** True if there was one before that was lost. */
      readonly isReconnect: boolean;
      /** Publishes unanswered when the last connection broke, sent again with the same ids. */
      readonly resentEvents: number;
      /** Subscriptions that are restored. */
      readonly resubscribing: number;
    }
  | {
      readonly type: "disconnected";
      readonly reason: string;
      /** The WebSocket close code, if one came. */
      readonly code: number | undefined;
      /** Unanswered publishes. */
      readonly unansweredEvents: number;
    }
  /** An attempt to connect failed; the next follows. */
  | { readonly type: "not_connected"; readonly reason: string; readonly retryInMs: number }
  /** A subscription continues over a new connection: delivered and unsettled events come again. */
  | { readonly type: "resubscribed"; readonly topic: string; readonly group: string | undefined }
  | { readonly type: "gap"; readonly topic: string; readonly group: string | undefined; readonly gap: Gap }
  /** A subscription ended, and not because the application asked for it. */
  | {
      readonly type: "subscription_ended";
      readonly topic: string;
      readonly group: string | undefined;
      readonly error: PromError;
    }
  /** The group has another value than this subscriber asked for, and the group's counts. */
  | {
      readonly type: "option_differs";
      readonly topic: string;
      readonly group: string | undefined;
      /** Which option, and both values; for people. */
      readonly note: string;
    }
  /** A handler threw. With a group the event was nacked; without one it is skipped. */
  | {
      readonly type: "handler_failed";
      readonly topic: string;
      readonly group: string | undefined;
      readonly eventId: string;
      readonly error: unknown;
    }
  /**
   * Publishes exceed the hub's rate limit; they are sent again, in order, when it accepts them. Reported at most once a
   * second while it lasts.
   */
  | { readonly type: "publishing_slowed"; readonly reason: string; readonly retryInMs: number }
  /** There is no fresh token; it is tried again. */
  | { readonly type: "token_failed"; readonly reason: string }
  /** The end, with the hub's refusal if it was not asked for. */
  | { readonly type: "closed"; readonly error: PromError | undefined };

export type NoticeListener = (notice: Notice) => void;

/** Holds the listeners; without any, problems are written to the console. */
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

/** An exception in an application's callback belongs to the application: it is thrown again where the runtime reports it. */
export function callOutside(callback: () => unknown): void {
  try {
    callback();
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown;
    });
  }
}
