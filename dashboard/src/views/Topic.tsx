/** One topic: its newest events, partitions, readers and settings. */

import type { LagAnswer, TopicView } from "@promethean/client/http";
import { useState } from "preact/hooks";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { pathOf } from "../hub.ts";
import type { RawEvent } from "../live.ts";
import { href, route } from "../route.ts";
import { may } from "../session.ts";
import { DownloadEvents } from "../ui/Download.tsx";
import { EventList } from "../ui/EventList.tsx";
import { Badge, Facts, Figure, Head, Panel, Tabs } from "../ui/parts.tsx";
import { Answered, Empty } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";
import { LagTable } from "./Overview.tsx";
import { kept } from "./Topics.tsx";

export function Topic({ name }: { name: string }) {
  const asked = useAsk<TopicView>(`/topics/${encodeURIComponent(name)}`, 2000);
  const tab = route.value.query.get("tab") ?? "events";
  const link = (id: string) => href(["topics", name], { tab: id });
  return (
    <>
      <p class="crumbs">
        <a href="#/topics">Topics</a>
      </p>
      <Head title={name} mono>
        {may("subscribe") && <a class="button" href={href(["tail"], { topic: name })}>Follow live</a>}
        {may("publish") && !/^(dlq|system)\./.test(name) && <a class="button" href={href(["publish"], { topic: name })}>Publish</a>}
      </Head>
      <Answered asked={asked} what={name}>
        {(topic) => (
          <>
            <div class="figures">
              <Figure name="Events" value={format.exact(topic.events)} />
              <Figure name="In" value={format.rate(topic.events_per_s)} note={topic.bytes_per_s ? `${format.bytes(topic.bytes_per_s)}/s` : undefined} />
              <Figure name="Size" value={format.bytes(topic.bytes)} />
              <Figure name="Retention" value={<span class="figure-text">{kept(topic.settings)}</span>} />
              <Figure name="Schema" value={topic.schema_version ? `v${topic.schema_version}` : "none"} />
            </div>
            <Tabs
              now={tab}
              of={[
                ["events", "Newest events", link("events")],
                ["partitions", `Partitions (${topic.settings.partitions})`, link("partitions")],
                ["groups", "Groups", link("groups")],
                ["settings", "Settings", link("settings")],
              ]}
            />
            {tab === "events" && <Newest topic={topic} />}
            {tab === "partitions" && <Partitions topic={topic} />}
            {tab === "groups" && <Readers name={name} />}
            {tab === "settings" && <Settings topic={topic} />}
          </>
        )}
      </Answered>
    </>
  );
}

/** Per partition: enough to fill a screen. */
const NEWEST = 50;

function Newest({ topic }: { topic: TopicView }) {
  const [back, setBack] = useState(0);
  const each = Math.max(5, Math.ceil(NEWEST / topic.partitions.length));
  const heads = [...topic.partitions].sort((one, other) => one.partition - other.partition);
  const from = heads.map(({ start, head }) => Math.max(start, head - each * (back + 1)));
  const to = heads.map(({ start, head }) => Math.max(start, head - each * back));
  const path = pathOf("/replay", { topic: topic.topic, next: from.join("."), limit: Math.min(10_000, each * heads.length) });
  const asked = useAsk<{ events: RawEvent[] }>(topic.events === 0 ? null : path);
  if (topic.events === 0) return <Panel flush><Empty title="This topic is empty" /></Panel>;
  const shownOf = (events: readonly RawEvent[]) =>
    events.filter((event) => event.offset < (to[event.partition] ?? Infinity)).sort((one, other) => other.stored_ts - one.stored_ts || other.offset - one.offset);
  const hasOlder = heads.some(({ start }, at) => (from[at] ?? 0) > start);
  return (
    <Panel flush>
      <Answered asked={asked} what="events">
        {({ events }) => {
          const shown = shownOf(events);
          return shown.length === 0 ? <Empty title="Retention has removed these events" /> : <EventList events={shown} showsTopic={false} label="Events, newest first" />;
        }}
      </Answered>
      {asked.data !== undefined && (
        <div class="pager">
          <button type="button" disabled={back === 0} onClick={() => setBack(back - 1)}>Newer</button>
          <button type="button" disabled={!hasOlder} onClick={() => setBack(back + 1)}>Older</button>
          {shownOf(asked.data.events).length > 0 && <DownloadEvents events={shownOf(asked.data.events)} name={topic.topic} />}
        </div>
      )}
    </Panel>
  );
}

function Partitions({ topic }: { topic: TopicView }) {
  return (
    <Panel flush>
      <Table
        label="Partitions"
        rows={topic.partitions}
        keyOf={(partition) => String(partition.partition)}
        columns={[
          { name: "Partition", number: true, show: (partition) => partition.partition },
          { name: "First offset", number: true, show: (partition) => format.exact(partition.start) },
          { name: "Next offset", number: true, show: (partition) => format.exact(partition.head) },
          { name: "Events", number: true, show: (partition) => format.exact(partition.head - partition.start) },
          { name: "Size", number: true, show: (partition) => format.bytes(partition.bytes) },
        ]}
      />
    </Panel>
  );
}

function Readers({ name }: { name: string }) {
  const asked = useAsk<LagAnswer>(pathOf("/lag", { topic: name }), 3000);
  return (
    <Panel flush>
      <Answered asked={asked} what="groups">
        {(answer) => {
          const lags = "lags" in answer ? answer.lags : [answer];
          return lags.length === 0 ? <Empty title="No group reads this topic" /> : <LagTable rows={lags} />;
        }}
      </Answered>
    </Panel>
  );
}

function Settings({ topic }: { topic: TopicView }) {
  const { settings } = topic;
  return (
    <Panel>
      <Facts
        of={[
          ["Partitions", settings.partitions],
          ["Key", settings.key ? <code>{settings.key}</code> : <span class="muted">as the publisher gives it</span>],
          ["Retention by age", settings.retention.age_ms ? format.duration(settings.retention.age_ms) : <span class="muted">no limit</span>],
          ["Retention by size", settings.retention.size_bytes ? `${format.bytes(settings.retention.size_bytes)} of each partition` : <span class="muted">no limit</span>],
          ["Compaction", settings.compaction ? `the latest of each key; tombstones stay ${format.duration(settings.compaction.tombstone_grace_ms)}` : <span class="muted">off</span>],
          ["Attempts", settings.max_attempts ?? <span class="muted">as each group says</span>],
          ["Newest offset of each key", settings.versions || settings.compaction ? "kept" : <span class="muted">not kept</span>],
          settings.mask?.length ? ["Masked", <>{settings.mask.map((pointer) => <div key={pointer}><code>{pointer}</code></div>)}</>] : undefined,
          settings.snapshot ? ["Snapshot", `every ${format.duration(settings.snapshot.every_ms)}`] : undefined,
          settings.snapshot_of === undefined ? undefined : ["Snapshots of", <a class="mono" href={href(["topics", settings.snapshot_of])}>{settings.snapshot_of}</a>],
          ...(topic.indexes ?? []).map(({ expression, behind }) => ["Index", <><code>{expression}</code> {behind > 0 && <Badge tone="warn">{format.exact(behind)} behind</Badge>}</>] as const),
          settings.dual_write ? ["Dual write", settings.dual_write.until ? `until ${format.dateTime(settings.dual_write.until)}` : <Badge tone="info">on</Badge>] : undefined,
        ]}
      />
      <p class="hint">
        Change them with <code>PUT /topics/{topic.topic}</code> or in <code>prom.toml</code>.
      </p>
    </Panel>
  );
}
