/** The handle of a subscription: pause it, resume it, end it. */

import type { Connection } from "./connection/connection.js";
import type { PromError } from "./error.js";
import type { Feed } from "./feed.js";

export class Subscription {
  /**
   * Resolves when nothing more comes: with the error if the hub ended it, with nothing if the application did.
   */
  readonly ended: Promise<PromError | undefined>;

  /** @internal */
  constructor(
    private readonly connection: Connection,
    private readonly feed: Feed,
  ) {
    const before = feed.onArrived;
    this.ended = new Promise((resolve) => {
      const check = () => {
        if (feed.ended === undefined) return before();
        feed.onArrived = before;
        resolve(feed.ended.error);
        before();
      };
      feed.onArrived = check;
      if (feed.ended !== undefined) check();
    });
  }

  get topic(): string {
    return this.feed.facts.topic;
  }

  get group(): string | undefined {
    return this.feed.facts.group;
  }

  /** Nothing more is leased to it until `resume`; existing leases stay, and handlers continue with what has come. */
  pause(): Promise<void> {
    return this.#switch("pause");
  }

  resume(): Promise<void> {
    return this.#switch("resume");
  }

  /**
   * Ends it and returns what is not settled: the group gives it to others at once. Settlements of handlers that have just
   * finished count; handlers that still run lose their leases.
   */
  unsubscribe(): Promise<void> {
    return new Promise((resolve, reject) => this.connection.subscriptions.unsubscribe(this.feed, { resolve, reject }));
  }

  #switch(wanted: "pause" | "resume"): Promise<void> {
    return new Promise((resolve, reject) =>
      this.connection.subscriptions.pause(this.feed, wanted, { resolve, reject }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.unsubscribe();
  }
}
