/** Saves a text as a file of the user's, made in the page: the hub is not asked again, and the token is in no address. */

import type { RawEvent } from "../live.ts";
import { Icon } from "./Icon.tsx";

export function Download({ name, text, label, children }: { name: string; text: () => string; label: string; children: string }) {
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text()], { type: "application/octet-stream" }));
    link.download = name;
    link.click();
    // The browser has begun to read it by then.
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  return (
    <button type="button" class="small" onClick={save} title={label}>
      <Icon name="download" />
      {children}
    </button>
  );
}

/** An event as a line of an export: its payload by its text, every digit as it was stored. */
export function lineOf(event: RawEvent): string {
  const { payload, ...rest } = event;
  return `${JSON.stringify(rest).slice(0, -1)},"payload":${payload.text}}\n`;
}

/** The events that are shown, one a line. */
export function DownloadEvents({ events, name }: { events: readonly RawEvent[]; name: string }) {
  return (
    <Download name={`${name}.ndjson`} text={() => events.map(lineOf).join("")} label="Download the events that are shown, one per line">
      {`Download ${events.length} shown`}
    </Download>
  );
}
