/**
 * Where a tail continues after a lost connection.
 *
 * The hub reads the logs of a tail in turn, in pieces, so they are not equally far. A resumed tail starts at the time of
 * the log that is furthest behind among those that may not have been read to their end, and events seen before are
 * skipped by their offset. Promise: nothing comes twice, and nothing that the tail had begun to read is skipped.
 */

import type { EventEnvelope } from "../event.js";
import { TAIL_OVERLAP_MS, TAIL_PIECE } from "../limits.js";

/** The last event of one log. */
interface Mark {
  readonly topic: string;
  readonly partition: number;
  offset: number;
  storedTs: number;
  arrival: number;
}

/** Where the tail started: at the end, a log from which nothing has come had nothing to give. */
export type Began = "at the end" | "with history";

export class Progress {
  readonly #marks = new Map<string, Mark>();
  #lastMark: Mark | undefined;
  #arrivals = 0;
  /** When the last previously unknown log appeared. */
  #lastNewLog = 0;

  /** Notes an event. False if it came before. */
  note(event: EventEnvelope): boolean {
    this.#arrivals++;
    const mark = this.#markOf(event);
    if (mark === undefined) return true;
    // A smaller offset with a later time means that the log was created again.
    if (event.offset <= mark.offset && event.stored_ts <= mark.storedTs) return false;
    mark.offset = event.offset;
    mark.storedTs = event.stored_ts;
    mark.arrival = this.#arrivals;
    return true;
  }

  /** `undefined` for the first event of a log. */
  #markOf(event: EventEnvelope): Mark | undefined {
    const { topic, partition } = event;
    const last = this.#lastMark;
    if (last !== undefined && last.topic === topic && last.partition === partition) return last;
    const name = `${partition}/${topic}`;
    const known = this.#marks.get(name);
    if (known !== undefined) return (this.#lastMark = known);
    this.#lastNewLog = this.#arrivals;
    this.#lastMark = { topic, partition, offset: event.offset, storedTs: event.stored_ts, arrival: this.#arrivals };
    this.#marks.set(name, this.#lastMark);
    return undefined;
  }

  /** The time to continue from; none if it must start where it started. */
  resumeAt(began: Began): number | undefined {
    if (began === "with history" && this.#arrivals - this.#lastNewLog <= TAIL_PIECE) return undefined;
    const round = TAIL_PIECE * (this.#marks.size + 1);
    const unfinished = [...this.#marks.values()].filter((mark) => this.#arrivals - mark.arrival <= round);
    if (unfinished.length === 0) return undefined;
    return unfinished.reduce((at, mark) => Math.min(at, mark.storedTs - TAIL_OVERLAP_MS), Infinity);
  }
}
