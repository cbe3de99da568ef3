/** What holds a group back, partition by partition, in the hub's words; and what can be done, from here. */

import type { HeldLeaseView, PartitionWhyView, WhyView } from "@promethean/client/http";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { ask, pathOf } from "../hub.ts";
import { href } from "../route.ts";
import { may } from "../session.ts";
import { confirm } from "../ui/confirm.tsx";
import { Copy } from "../ui/Copy.tsx";
import { Badge, Panel, type Tone } from "../ui/parts.tsx";
import { Answered } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";
import { kick } from "./Group.tsx";

/** More are rarely looked at; the furthest behind come first. */
const PARTITIONS = 12;

export function Why({ group, topic }: { group: string; topic: string }) {
  const asked = useAsk<WhyView>(pathOf("/why", { topic, group }), 2000);
  return (
    <Answered asked={asked} what="what holds it back">
      {(why) => {
        const behind = [...why.partitions].sort((one, other) => other.lag_events - one.lag_events);
        const shown = behind.filter((partition, at) => at === 0 || partition.lag_events > 0).slice(0, PARTITIONS);
        return (
          <>
            {shown.map((partition) => (
              <Partition key={partition.partition} group={group} topic={topic} why={partition} of={why.partitions.length} />
            ))}
            {shown.length < behind.length && (
              <p class="muted">
                {format.many(behind.length - shown.length, "further partition")} {shown.length < PARTITIONS ? "with nothing to wait for" : "behind less far"}.
              </p>
            )}
          </>
        );
      }}
    </Answered>
  );
}

function stateOf(why: PartitionWhyView): readonly [Tone, string] {
  if (why.lag_events === 0) return ["ok", "caught up"];
  if (why.status == null || why.status.subscribers === 0) return ["bad", "no subscriber"];
  if (why.status.limit) return ["bad", "at a limit"];
  if (why.status.subscribers === why.status.paused_subscribers) return ["warn", "paused"];
  switch (why.status.oldest?.state) {
    case "leased":
      return ["info", "in flight"];
    case "waiting":
      return ["warn", "failed, will be retried"];
    case "dead_letter_failing":
      return ["bad", "its dead letter cannot be written"];
    case "dead_letter_pending":
      return ["warn", "on its way to the dead letters"];
    default:
      return ["info", "catching up"];
  }
}

function Partition({ group, topic, why, of }: { group: string; topic: string; why: PartitionWhyView; of: number }) {
  const [tone, state] = stateOf(why);
  const oldest = why.status?.oldest;
  return (
    <Panel
      title={
        <>
          <span class="mono">{topic}</span>
          {of > 1 && <span class="muted"> partition {why.partition}</span>} <Badge tone={tone}>{state}</Badge>
        </>
      }
      aside={<span class="muted">{format.many(why.lag_events, "event")} behind</span>}
    >
      <p class={`explanation ${tone}`}>{format.sentence(why.explanation)}</p>
      {why.lag_events > 0 && (
        <dl class="facts">
          <div>
            <dt>Event at the floor</dt>
            <dd class="mono">
              {why.event == null ? `offset ${why.floor}` : <a href={href(["events", why.event], { topic, at: `${why.partition}:${why.floor}` })}>{why.event}</a>}
            </dd>
          </div>
          {why.key != null && <div><dt>Key</dt><dd class="mono">{why.key}</dd></div>}
          {oldest != null && <div><dt>Failed attempts</dt><dd>{oldest.attempts}{oldest.returns > 0 && `, given back ${oldest.returns} times`}</dd></div>}
          {oldest?.last_error != null && <div class="wide"><dt>Last error</dt><dd class="error-text">{oldest.last_error}</dd></div>}
        </dl>
      )}
      {(why.held?.length ?? 0) > 0 && <Held group={group} topic={topic} partition={why.partition} held={why.held ?? []} />}
      <Actions group={group} topic={topic} why={why} />
    </Panel>
  );
}

function Held({ group, topic, partition, held }: { group: string; topic: string; partition: number; held: readonly HeldLeaseView[] }) {
  return (
    <Table
      label="Events that are held"
      rows={held}
      keyOf={(lease) => String(lease.offset)}
      columns={[
        { name: "Held event", show: (lease) => (lease.id == null ? <span class="mono">offset {lease.offset}</span> : <a class="mono" href={href(["events", lease.id], { topic, at: `${partition}:${lease.offset}` })}>offset {lease.offset}</a>) },
        { name: "Key", wide: true, show: (lease) => <span class="mono clip">{lease.key ?? "–"}</span> },
        { name: "By", show: (lease) => <span><span class="mono">{lease.member}</span>{lease.subject != null && <span class="muted"> {lease.subject}</span>}</span> },
        { name: "For", number: true, show: (lease) => format.duration(lease.held_ms) },
        { name: "Renewed", number: true, wide: true, show: (lease) => lease.renewals },
        { name: "Failed before", number: true, wide: true, show: (lease) => lease.attempts },
        {
          name: "",
          show: (lease) =>
            may("admin") && (
              <span class="row">
                <button type="button" class="small" onClick={() => release(group, topic, partition, lease)}>Release…</button>
                <button type="button" class="small" onClick={() => kick(group, lease.member)}>Kick…</button>
              </span>
            ),
        },
      ]}
    />
  );
}

function release(group: string, topic: string, partition: number, lease: HeldLeaseView): void {
  confirm({
    title: `Release offset ${lease.offset}?`,
    body: <p>The lease of 1 event of <code>{topic}</code> is taken from <code>{lease.member}</code>, and group <code>{group}</code> gets it again at once. Its holder may still be working on it, so it may be handled twice.</p>,
    verb: "Release",
    run: async () => {
      const done = await ask<{ released: readonly unknown[] }>(`/groups/${encodeURIComponent(group)}/release`, { method: "POST", body: { topic, partition, offset: lease.offset } });
      return done.released.length === 0 ? `Offset ${lease.offset} was not held any more; nothing was changed.` : `Released offset ${lease.offset} of ${topic}.`;
    },
  });
}

function skip(group: string, topic: string, why: PartitionWhyView): void {
  confirm({
    title: `Skip offset ${why.floor}?`,
    body: <p>1 event of <code>{topic}</code>{why.event != null && <> (<code>{why.event}</code>)</>} counts as settled for group <code>{group}</code>. The group never gets it; the event stays in the topic.</p>,
    verb: "Skip it",
    isDangerous: true,
    run: async () => {
      const done = await ask<{ already_settled: boolean; offset: number }>("/skip", { method: "POST", body: { topic, group, partition: why.partition, offset: why.floor } });
      return done.already_settled ? `Offset ${done.offset} was settled already; nothing was changed.` : `Skipped offset ${done.offset} of ${topic} for ${group}.`;
    },
  });
}

function Actions({ group, topic, why }: { group: string; topic: string; why: PartitionWhyView }) {
  if (why.lag_events === 0) return null;
  return (
    <div class="actions">
      {may("admin") && (
        <div class="row">
          <button type="button" onClick={() => skip(group, topic, why)}>Skip this event…</button>
          <a class="button" href={href(["groups", group], { tab: "cursor", why: topic })}>Move the cursor…</a>
        </div>
      )}
      {(why.actions?.length ?? 0) > 0 && (
        <details>
          <summary>On the command line</summary>
          <ul class="commands">
            {why.actions?.map((action) => (
              <li key={action.command}>
                {action.what}
                <div class="command"><code>{action.command}</code><Copy text={action.command} label="Copy this command" /></div>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
