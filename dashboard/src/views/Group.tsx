/** One group: how far it is behind and why, who takes part, where it stands. */

import type { GroupView, LagAnswer, LagView, PartitionList } from "@promethean/client/http";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { lagOver } from "../history.ts";
import { ask, pathOf } from "../hub.ts";
import { go, href, route } from "../route.ts";
import { may } from "../session.ts";
import { Chart, type Curve } from "../ui/Chart.tsx";
import { confirm } from "../ui/confirm.tsx";
import { Badge, Facts, Figure, Head, Panel, Tabs } from "../ui/parts.tsx";
import { Answered, Empty } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";
import { MoveCursor } from "./MoveCursor.tsx";
import { Why } from "./Why.tsx";

const CURVES: readonly Curve[] = [
  { name: "events behind", colour: "--accent", show: format.short },
  { name: "age of the oldest", colour: "--blue", show: (seconds) => format.duration(seconds * 1000), scale: "s" },
];

export function Group({ name }: { name: string }) {
  const group = useAsk<GroupView>(`/groups/${encodeURIComponent(name)}`, 2000);
  const answer = useAsk<LagAnswer>(pathOf("/lag", { group: name }), 2000);
  const all = answer.data === undefined ? [] : "lags" in answer.data ? answer.data.lags : [answer.data];
  const { query } = route.value;
  const topic = query.get("why") ?? furthest(all)?.topic;
  const tab = query.get("tab") ?? "why";
  const link = (id: string) => href(["groups", name], { tab: id, why: topic });
  return (
    <>
      <p class="crumbs">
        <a href="#/groups">Groups</a>
      </p>
      <Head title={name} mono>
        {may("admin") && group.data !== undefined && <button type="button" class="danger" onClick={() => remove(name, all, group.data?.subscribers ?? 0)}>Delete…</button>}
      </Head>
      <Answered asked={group} what={name}>
        {(found) => (
          <>
            <Figures group={found} lags={all} />
            <Tabs
              now={tab}
              of={[
                ["why", "Why is it behind?", link("why")],
                ["members", `Subscribers (${found.subscribers})`, link("members")],
                ["partitions", "Partitions", link("partitions")],
                ["cursor", "Move the cursor", link("cursor")],
                ["settings", "Settings", link("settings")],
              ]}
            />
            {tab === "settings" && <Settings group={found} />}
            {tab === "members" && <Members group={found} />}
            {["why", "partitions", "cursor"].includes(tab) && (
              <Answered asked={answer} what="lag">
                {() =>
                  topic === undefined ? (
                    <Panel flush><Empty title="No topic that exists is read by this group yet" /></Panel>
                  ) : (
                    <>
                      <Choose group={name} tab={tab} now={topic} lags={all} />
                      {tab === "why" && (
                        <>
                          <Panel title="Lag over time" aside={<span class="muted">since this page was opened</span>}>
                            <Chart series={lagOver(topic, name)} curves={CURVES} label={`Lag of ${name} in ${topic}`} />
                          </Panel>
                          <Why group={name} topic={topic} />
                        </>
                      )}
                      {tab === "partitions" && <Partitions group={name} topic={topic} />}
                      {tab === "cursor" && <MoveCursor group={name} topic={topic} />}
                    </>
                  )
                }
              </Answered>
            )}
          </>
        )}
      </Answered>
    </>
  );
}

function furthest(lags: readonly LagView[]): LagView | undefined {
  return [...lags].sort((one, other) => other.lagEvents - one.lagEvents)[0];
}

function Figures({ group, lags }: { group: GroupView; lags: readonly LagView[] }) {
  const events = lags.reduce((sum, lag) => sum + lag.lagEvents, 0);
  const oldest = lags.reduce((most, lag) => Math.max(most, lag.lagEvents > 0 ? lag.lagMs : 0), 0);
  const leases = (group.members ?? []).map((member) => member.oldest_lease_ms ?? 0);
  const paused = (group.members ?? []).filter((member) => member.paused).length;
  return (
    <div class="figures">
      <Figure name="Behind" value={format.exact(events)} tone={events > 0 ? "info" : "ok"} note={events > 0 ? `the oldest waits ${format.duration(oldest)}` : "everything is settled"} />
      <Figure name="In flight" value={format.exact(lags.reduce((sum, lag) => sum + lag.inFlight, 0))} note={leases.length > 0 && Math.max(...leases) > 0 ? `oldest lease ${format.duration(Math.max(...leases))}` : undefined} />
      <Figure name="Subscribers" value={group.subscribers} tone={group.subscribers === 0 && events > 0 ? "bad" : "plain"} note={paused > 0 ? `${paused} paused` : undefined} />
      <Figure name="Dead letters" value={format.exact(lags.reduce((sum, lag) => sum + (lag.deadLetters ?? 0), 0))} note="in its topics, of all groups" />
      {group.served_by !== undefined && <Figure name="Served by" value={<span class="figure-text mono">{group.served_by}</span>} />}
    </div>
  );
}

function Choose({ group, tab, now, lags }: { group: string; tab: string; now: string; lags: readonly LagView[] }) {
  if (lags.length < 2) return null;
  return (
    <div class="choose">
      <label for="group-topic">Topic</label>
      <select id="group-topic" value={now} onChange={(event) => go(["groups", group], { tab, why: event.currentTarget.value })}>
        {[...lags].sort((one, other) => other.lagEvents - one.lagEvents).map((lag) => (
          <option key={lag.topic} value={lag.topic}>
            {lag.topic} ({format.many(lag.lagEvents, "event")} behind)
          </option>
        ))}
      </select>
    </div>
  );
}

function Members({ group }: { group: GroupView }) {
  const members = group.members ?? [];
  if (members.length === 0) return <Panel flush><Empty title="No subscribers">Events wait until one subscribes.</Empty></Panel>;
  return (
    <Panel flush>
      <Table
        label="Subscribers"
        rows={members}
        keyOf={(member) => `${member.member} ${member.topics.join(" ")} ${member.since_ts}`}
        columns={[
          { name: "Member", show: (member) => <span class="mono">{member.member} {member.paused && <Badge tone="warn">paused</Badge>}</span> },
          { name: "Subject", show: (member) => member.subject ?? <span class="muted">–</span> },
          { name: "Address", wide: true, show: (member) => <span class="mono">{member.address ?? "–"}</span> },
          { name: "In flight", number: true, show: (member) => `${format.exact(member.in_flight)} of ${format.exact(member.max_in_flight)}` },
          { name: "Oldest lease", number: true, show: (member) => (member.oldest_lease_ms ? format.duration(member.oldest_lease_ms) : "–") },
          { name: "Since", number: true, wide: true, show: (member) => format.ago(member.since_ts) },
          { name: "", show: (member) => may("admin") && <button type="button" class="small" onClick={() => kick(group.group, member.member)}>Kick…</button> },
        ]}
      />
    </Panel>
  );
}

export function kick(group: string, member: string): void {
  confirm({
    title: `Kick ${member}?`,
    body: <p>All subscriptions of <code>{member}</code> in group <code>{group}</code> end, and what it holds goes back at once. Promethean clients subscribe again by themselves.</p>,
    verb: "Kick",
    isDangerous: true,
    run: async () => {
      const done = await ask<{ returned: number; subscriptions: number }>(`/groups/${encodeURIComponent(group)}/kick`, { method: "POST", body: { member } });
      return `Kicked ${member}: ${format.many(done.subscriptions, "subscription")} ended, ${format.many(done.returned, "event")} went back to the group.`;
    },
  });
}

function remove(group: string, lags: readonly LagView[], subscribers: number): void {
  const events = lags.reduce((sum, lag) => sum + lag.lagEvents, 0);
  confirm({
    title: `Delete group ${group}?`,
    body: (
      <p>
        Group <code>{group}</code> loses its cursors in {format.many(lags.length, "topic")}: {format.many(events, "unsettled event")} will not be delivered to it, and {format.many(subscribers, "subscriber")} {subscribers === 1 ? "is" : "are"} cut off. A subscriber that returns creates a new group.
      </p>
    ),
    count: events,
    verb: "Delete the group",
    isDangerous: true,
    run: async () => {
      await ask(`/groups/${encodeURIComponent(group)}`, { method: "DELETE" });
      go(["groups"]);
      return `Deleted group ${group}.`;
    },
  });
}

function Partitions({ group, topic }: { group: string; topic: string }) {
  const asked = useAsk<PartitionList>(pathOf("/partitions", { topic, group }), 2000);
  return (
    <Panel
      title={<span class="mono">{topic}</span>}
      aside={asked.data?.generation != null && <span class="muted">generation {asked.data.generation}{asked.data.virtual && ", divided by key"}</span>}
      flush
    >
      <Answered asked={asked} what="partitions">
        {(list) => (
          <Table
            label="Partitions"
            rows={list.partitions}
            keyOf={(partition) => String(partition.partition)}
            columns={[
              { name: "Partition", number: true, show: (partition) => partition.partition },
              { name: "Owner", show: (partition) => (list.mode === "shared" ? <span class="muted">shared</span> : <span class="mono">{partition.owner ?? "none"}{partition.moving_to && ` → ${partition.moving_to}`}</span>) },
              { name: "Floor", number: true, show: (partition) => (partition.floor == null ? "–" : format.exact(partition.floor)) },
              { name: "Next", number: true, wide: true, show: (partition) => (partition.next == null ? "–" : format.exact(partition.next)) },
              { name: "Behind", number: true, show: (partition) => (partition.lag_events == null ? "–" : format.exact(partition.lag_events)) },
              { name: "In flight", number: true, show: (partition) => format.exact(partition.in_flight) },
              { name: "Epoch", number: true, wide: true, show: (partition) => partition.epoch ?? "–" },
            ]}
          />
        )}
      </Answered>
    </Panel>
  );
}

function Settings({ group }: { group: GroupView }) {
  return (
    <>
      {group.subscriptions.map(({ topics, options }) => (
        <Panel key={topics.join(" ")} title={<span class="mono">{topics.join(", ")}</span>}>
          <Facts
            of={[
              ["Mode", options.mode],
              ["Order", options.order],
              ["Began at", options.from],
              ["Filter", options.filter ? <code>{options.filter}</code> : <span class="muted">none</span>],
              ["Attempts", options.max_attempts ?? <span class="muted">as the topic says</span>],
              ["Backoff", `${format.duration(options.backoff.first_ms)} doubling to ${format.duration(options.backoff.max_ms)}`],
              ["Expires", options.expire_after_ms ? `after ${format.duration(options.expire_after_ms)} without a subscriber` : <span class="muted">never</span>],
              options.partitions ? ["Divided into", options.partitions] : undefined,
            ]}
          />
        </Panel>
      ))}
    </>
  );
}
