/**
 * What goes wrong while the application does not listen is written to the console: a handler that throws, a
 * subscription that ended, a hub that cannot be reached. Each kind at most once a minute.
 */

import { nowMs } from "./clock.js";
import { reasonOf } from "./error.js";
import { WARN_EVERY_MS } from "./limits.js";
import type { Notice } from "./state.js";

export class Warner {
  /** By kind of notice: when it was last written, and how many came since. */
  readonly #written = new Map<Notice["type"], { at: number; unwritten: number }>();

  hear(notice: Notice): void {
    const text = warningOf(notice);
    if (text === undefined) return;
    const last = this.#written.get(notice.type);
    if (last !== undefined && nowMs() - last.at < WARN_EVERY_MS) return void last.unwritten++;
    this.#written.set(notice.type, { at: nowMs(), unwritten: 0 });
    const more = last === undefined || last.unwritten === 0 ? "" : ` (and ${last.unwritten} more like it before)`;
    console.warn(`promethean: ${text}${more}. client.onNotice() tells you of each.`);
  }
}

/** A sentence without its full stop; none for what is no trouble. */
function warningOf(notice: Notice): string | undefined {
  switch (notice.type) {
    case "handler_failed": {
      const fate = notice.group === undefined ? "is passed over" : "is nacked";
      return `a handler of ${nameOf(notice)} threw, and event ${notice.eventId} ${fate}: ${reasonOf(notice.error)}`;
    }
    case "option_differs":
      return `the subscription to ${nameOf(notice)}: ${notice.note}`;
    case "subscription_ended":
      return `the subscription to ${nameOf(notice)} has ended: ${notice.error.message}`;
    case "gap":
      return `events of ${notice.gap.topic} are gone before ${nameOf(notice)} had them (${notice.gap.reason})`;
    case "not_connected":
      return `no connection to the hub: ${notice.reason}`;
    case "publishing_slowed":
      return `the hub slows publishing down: ${notice.reason}`;
    case "token_failed":
      return `no token: ${notice.reason}`;
    case "closed":
      return notice.error === undefined ? undefined : `the client is closed: ${notice.error.message}`;
    default:
      return undefined;
  }
}

function nameOf({ topic, group }: { readonly topic: string; readonly group: string | undefined }): string {
  return group === undefined ? topic : `${topic} in group ${group}`;
}
