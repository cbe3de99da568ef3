/** Events as rows: time, place, key, the beginning of the payload; a row opens in place. */

import { useState } from "preact/hooks";
import * as format from "../format.ts";
import { Json } from "../json/Json.tsx";
import { compactText, visible } from "../json/pretty.ts";
import type { RawEvent } from "../live.ts";
import { href } from "../route.ts";

const PREVIEW = 220;

export function eventLink(event: Pick<RawEvent, "id" | "topic" | "partition" | "offset">): string {
  return href(["events", event.id], { topic: event.topic, at: `${event.partition}:${event.offset}` });
}

export function EventList({ events, showsTopic, label }: { events: readonly RawEvent[]; showsTopic: boolean; label: string }) {
  return (
    <ol class="events" aria-label={label}>
      {events.map((event) => (
        <EventRow key={`${event.topic}/${event.partition}/${event.offset}`} event={event} showsTopic={showsTopic} />
      ))}
    </ol>
  );
}

function EventRow({ event, showsTopic }: { event: RawEvent; showsTopic: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const isTombstone = event.payload.text === "null";
  return (
    <li class={isOpen ? "open" : ""}>
      <button type="button" class="event-row" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <time>{format.time(event.stored_ts)}</time>
        {showsTopic && <span class="event-topic">{event.topic}</span>}
        <span class="event-place" title="partition : offset">
          {event.partition}:{event.offset}
        </span>
        {event.key !== undefined && <span class="event-key">{event.key === "" ? '""' : visible(event.key)}</span>}
        <span class={isTombstone ? "event-payload tombstone" : "event-payload"}>
          {isTombstone ? "tombstone" : compactText(event.payload.text, PREVIEW)}
        </span>
      </button>
      {isOpen && (
        <div class="event-open">
          <Json text={event.payload.text} label="payload" />
          <p>
            <a href={eventLink(event)}>Open event {event.id}</a>
          </p>
        </div>
      )}
    </li>
  );
}
