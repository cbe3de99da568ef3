/** Who changed what: the topic system.audit, newest first. */

import type { TopicView } from "@promethean/client/http";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { pathOf, Problem } from "../hub.ts";
import type { RawEvent } from "../live.ts";
import { href } from "../route.ts";
import { Json } from "../json/Json.tsx";
import { Badge, Head, Panel } from "../ui/parts.tsx";
import { Answered, Empty, Failure, Loading } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";

const TOPIC = "system.audit";
const SHOWN = 200;

interface Entry {
  readonly action?: string;
  readonly subject?: string | null;
  readonly topic?: string;
  readonly group?: string;
}

export function Audit() {
  const topic = useAsk<TopicView>(`/topics/${TOPIC}`, 4000);
  const from = topic.data?.partitions.map(({ start, head }) => Math.max(start, head - SHOWN)).join(".");
  const events = useAsk<{ events: RawEvent[] }>(from === undefined ? null : pathOf("/replay", { topic: TOPIC, next: from, limit: SHOWN }));
  const isUnused = topic.error instanceof Problem && topic.error.status === 404;
  return (
    <>
      <Head title="Audit trail" />
      <Panel flush>
        {isUnused ? (
          <Empty title="Nothing was changed by hand yet" />
        ) : topic.data === undefined ? (
          topic.error === undefined ? <Loading /> : <Failure error={topic.error} again={topic.again} />
        ) : (
          <Answered asked={events} what="entries">
            {(page) => (
              <>
              <Table
                label="Changes, newest first"
                rows={[...page.events].reverse()}
                keyOf={(event) => event.id}
                columns={[
                  { name: "When", show: (event) => <time>{format.time(event.stored_ts)}</time> },
                  { name: "Who", show: (event) => entry(event).subject ?? <span class="muted">no auth</span> },
                  { name: "Did", show: (event) => <Badge tone="info">{entry(event).action ?? "?"}</Badge> },
                  { name: "To", show: (event) => <span class="mono">{[entry(event).topic, entry(event).group].filter(Boolean).join(" · ")}</span> },
                  { name: "In detail", wide: true, show: (event) => <details><summary>show</summary><Json text={event.payload.text} label="entry" /></details> },
                ]}
              />
              {page.events.length >= SHOWN && <p class="pager muted">The newest {SHOWN} are shown; <a href={href(["search"], { topic: TOPIC })}>search</a> for older ones.</p>}
              </>
            )}
          </Answered>
        )}
      </Panel>
    </>
  );
}

/** Entries are the hub's own, and their numbers small. */
function entry(event: RawEvent): Entry {
  return JSON.parse(event.payload.text) as Entry;
}
