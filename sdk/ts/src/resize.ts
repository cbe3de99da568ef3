/**
 * Changing the window of a subscription.
 *
 * The hub is asked to pause, the events that have come are handled, and when none is left the client subscribes again.
 * So no event is returned because of it, and none is handled twice. Slow handlers do not delay the others: the change
 * is postponed then.
 */

import { RESIZE_PATIENCE_MS } from "./limits.js";
import type { Window } from "./window.js";

/** The requests to the hub. */
export interface ResizeSteps {
  /** Calls `then` when nothing more is in transit. */
  pause(then: () => void): void;
  resume(): void;
  /** Ends the subscription and subscribes again. */
  renew(): void;
}

export class Resizing {
  /** The wanted size, during a change. */
  #to: number | undefined;
  #isPaused = false;
  #patience: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly window: Window,
    private readonly steps: ResizeSteps,
    /** How many events wait to be taken, and how many handlers run. */
    private readonly inHand: () => { readonly waiting: number; readonly running: number },
  ) {}

  /** A handler has finished. */
  worked(tookMs: number): void {
    this.window.note(tookMs);
    if (this.#to === undefined) this.#begin();
    else this.#renewIfQuiet();
  }

  /** The client subscribes again, or the subscription has ended: the change is over. */
  stop(): void {
    if (this.#to === undefined) return;
    this.#to = undefined;
    this.#isPaused = false;
    this.#lookNoMore();
  }

  #begin(): void {
    const to = this.window.better(this.inHand().waiting);
    if (to === undefined) return;
    this.#to = to;
    this.steps.pause(() => {
      if (this.#to === undefined) return;
      this.#isPaused = true;
      this.#renewIfQuiet();
    });
  }

  #renewIfQuiet(): void {
    const { waiting, running } = this.inHand();
    if (this.#to === undefined || !this.#isPaused || waiting > 0) return this.#lookNoMore();
    if (running > 0) return void (this.#patience ??= setTimeout(() => this.#putOff(), RESIZE_PATIENCE_MS));
    this.#lookNoMore();
    this.window.resize(this.#to);
    this.steps.renew();
  }

  #putOff(): void {
    this.stop();
    this.window.putOff();
    this.steps.resume();
  }

  #lookNoMore(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
  }
}
