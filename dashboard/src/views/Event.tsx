/** One event, whole: where it is, what it says, and what can be made of it. */

import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { base, pathOf } from "../hub.ts";
import { Json } from "../json/Json.tsx";
import { visible } from "../json/pretty.ts";
import type { RawEvent } from "../live.ts";
import { href, route } from "../route.ts";
import { may } from "../session.ts";
import { Copy } from "../ui/Copy.tsx";
import { Download, lineOf } from "../ui/Download.tsx";
import { Badge, Facts, Head, Panel } from "../ui/parts.tsx";
import { Answered, Empty, Failure, Loading } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";
import { editCopy } from "./draft.ts";
import { Trace, useTrace } from "./Trace.tsx";

export function EventView() {
  const { path, query } = route.value;
  const id = path[1] ?? "";
  const trace = useTrace(id, query.get("topic") ?? "");
  // An address that says where the event is spares a look for it.
  const found = trace.data?.trace.event;
  const topic = query.get("topic") ?? found?.topic ?? "";
  const at = query.get("at") ?? (found === undefined ? "" : `${found.partition}:${found.offset}`);
  const [partition = 0, offset = 0] = at.split(":").map(Number);
  const next = [...Array.from({ length: partition }, () => Number.MAX_SAFE_INTEGER), offset].join(".");
  const asked = useAsk<{ events: RawEvent[] }>(topic === "" || at === "" ? null : pathOf("/replay", { topic, next, limit: 1 }));
  return (
    <>
      <p class="crumbs">{topic === "" ? <a href="#/search">Search</a> : <a href={href(["topics", topic])}>{topic}</a>}</p>
      <Head title={id} mono />
      {at === "" && trace.data !== undefined && <Panel flush><Empty title="No event of this id is known">It may be gone, or your token may not read it.</Empty></Panel>}
      {at === "" && trace.data === undefined && trace.error !== undefined && <Panel flush><Failure error={trace.error} /></Panel>}
      {at === "" && trace.isFirst && <Loading what="the event" />}
      {at !== "" && <Answered asked={asked} what="the event">
        {({ events }) => {
          const event = events.find((one) => one.id === id);
          return event === undefined ? <Panel flush><Empty title="This event is gone">Retention or compaction may have removed it.</Empty></Panel> : <Whole event={event} />;
        }}
      </Answered>}
      {at !== "" && <Trace asked={trace} />}
    </>
  );
}

function Whole({ event }: { event: RawEvent }) {
  const headers = Object.entries(event.headers ?? {});
  const version = event.headers?.["x-schema-version"];
  return (
    <>
      <div class="row wrap">
        {may("publish") && !/^(dlq|system)\./.test(event.topic) && <button type="button" class="primary" onClick={() => editCopy(event)}>Publish an edited copy…</button>}
        <Copy text={() => asProm(event)} label="Copy as a prom command">Copy as prom</Copy>
        <Copy text={() => asCurl(event)} label="Copy as a curl command">Copy as curl</Copy>
        <Copy text={() => asFixture(event)} label="Copy as a test fixture">Copy as fixture</Copy>
        <Download name={`${event.topic}-${event.partition}-${event.offset}.json`} text={() => lineOf(event)} label="Download the whole event">Download</Download>
      </div>
      <Panel>
        <Facts
          of={[
            ["Topic", <a class="mono" href={href(["topics", event.topic])}>{event.topic}</a>],
            ["Partition and offset", <span class="mono">{event.partition}:{event.offset}</span>],
            ["Key", event.key === undefined ? <span class="muted">none</span> : <span class="mono">{event.key === "" ? '""' : visible(event.key)}</span>],
            ["Stored", <time>{format.dateTime(event.stored_ts)} <span class="muted">{event.stored_ts}</span></time>],
            ["Happened", <time>{format.dateTime(event.ts)} <span class="muted">{event.ts}</span></time>],
            ["Schema", version === undefined ? <span class="muted">not judged</span> : <Badge tone="ok">valid under v{version}</Badge>],
            event.sid === undefined ? undefined : ["Session", <span class="mono">{event.sid}</span>],
            event.tags === undefined ? undefined : ["Tags", event.tags.join(", ")],
            event.caused_by === undefined ? undefined : ["Caused by", <>{event.caused_by.map((cause) => <div key={cause}><a class="mono" href={href(["events", cause])}>{cause}</a></div>)}</>],
          ]}
        />
      </Panel>
      <Panel title="Payload">
        {event.payload.text === "null" ? <p class="muted">A tombstone: <code>null</code> deletes the key where the topic is compacted.</p> : <Json text={event.payload.text} label="payload" />}
      </Panel>
      {headers.length > 0 && (
        <Panel title="Headers" flush>
          <Table label="Headers" rows={headers} keyOf={([name]) => name} columns={[{ name: "Name", show: ([name]) => <span class="mono">{name}</span> }, { name: "Value", show: ([, value]) => <span class="mono">{value}</span> }]} />
        </Panel>
      )}
    </>
  );
}

function asProm(event: RawEvent): string {
  const parts = ["prom pub", format.shell(event.topic), format.shell(event.payload.text)];
  if (event.key !== undefined) parts.push("--key", format.shell(event.key));
  for (const [name, value] of Object.entries(event.headers ?? {})) parts.push("--header", format.shell(`${name}=${value}`));
  for (const tag of event.tags ?? []) parts.push("--tag", format.shell(tag));
  for (const cause of event.caused_by ?? []) parts.push("--caused-by", cause);
  return parts.join(" ");
}

/** The event as a request, payload by its text. */
function asRequest(event: RawEvent): string {
  const { key, headers, tags, caused_by } = event;
  const opts = JSON.stringify({ key, headers, tags, caused_by });
  return `{"topic":${JSON.stringify(event.topic)},"payload":${event.payload.text}${opts === "{}" ? "" : `,"opts":${opts}`}}`;
}

function asCurl(event: RawEvent): string {
  return `curl ${format.shell(new URL("publish", base).href)} -H "authorization: Bearer $PROM_TOKEN" -H 'content-type: application/json' -d ${format.shell(asRequest(event))}`;
}

/** The whole event, as exports have it. */
const asFixture = lineOf;
