/** An event that was copied, to be edited and published. It is in memory only: payloads do not belong in an address. */

import { signal } from "@preact/signals";
import type { RawEvent } from "../live.ts";
import { go, route } from "../route.ts";

export interface Draft {
  readonly topic: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tags?: readonly string[];
  readonly caused_by?: readonly string[];
  /** JSON, as it was written. */
  readonly payload: string;
}

const copied = signal<{ readonly draft: Draft; readonly at: string } | undefined>(undefined);

/** The copy that this address was opened with. */
export const draft = {
  get value(): Draft | undefined {
    const at = route.value.query.get("copy");
    return copied.value?.at === at ? copied.value.draft : undefined;
  },
};

/** Stamps of the hub are left out: it makes them again. */
const STAMPS = new Set(["x-schema-version", "x-upcasted-from", "x-upcast-error"]);

export function editCopy(event: RawEvent): void {
  const headers = Object.fromEntries(Object.entries(event.headers ?? {}).filter(([name]) => !STAMPS.has(name)));
  copied.value = {
    at: event.id,
    draft: {
      topic: event.topic,
      ...(event.key === undefined ? {} : { key: event.key }),
      headers,
      ...(event.tags === undefined ? {} : { tags: event.tags }),
      caused_by: [event.id],
      payload: event.payload.text,
    },
  };
  go(["publish"], { copy: event.id });
}
