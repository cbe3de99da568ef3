/** The hub at a glance: is it well, what flows, what waits. */

import type { BackgroundView, LagView } from "@promethean/client/http";
import * as format from "../format.ts";
import { lagOver, lags, levels, rates, stats, statsError } from "../history.ts";
import { href } from "../route.ts";
import { may, me } from "../session.ts";
import { Chart, type Curve } from "../ui/Chart.tsx";
import { Figure, Head, Panel } from "../ui/parts.tsx";
import { Spark } from "../ui/Spark.tsx";
import { Empty, Failure, Loading } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";

const CURVES: readonly Curve[] = [
  { name: "published", colour: "--accent", show: format.rate },
  { name: "delivered", colour: "--blue", show: format.rate },
  { name: "acked", colour: "--green", show: format.rate },
];

export function Overview() {
  if (!may("ops", "everywhere")) return <Welcome />;
  const hub = stats.value;
  if (hub === undefined) {
    return statsError.value === undefined ? <Loading what="the hub" /> : <Failure error={statsError.value} />;
  }
  const level = (at: number) => levels.value.values[at] ?? [];
  return (
    <>
      <Head title="Overview">
        {hub.hub !== undefined && <span class="muted" title="Rates, connections and what is in flight are those of this hub; topics, lag and dead letters are of all">hub <span class="mono">{hub.hub}</span></span>}
        <span class="muted">up {format.duration(hub.uptime_s * 1000)}</span>
      </Head>
      {statsError.value !== undefined && <Failure error={statsError.value} />}
      <div class="figures">
        <Figure name="Published" value={format.rate(hub.rates?.published_per_s)} note={`${format.exact(hub.events.published)} since the start`}>
          <Spark values={rates.value.values[0] ?? []} label="published per second" />
        </Figure>
        <Figure name="Delivered" value={format.rate(hub.rates?.delivered_per_s)} note={`${format.exact(hub.events.redelivered)} again`}>
          <Spark values={rates.value.values[1] ?? []} label="delivered per second" />
        </Figure>
        <Figure name="Lag" value={format.short(hub.lag_events)} note={`${format.exact(hub.in_flight)} in flight`} link="#/groups?sort=-lag_events" tone={hub.lag_events > 0 ? "info" : "ok"}>
          <Spark values={level(0)} label="events behind" />
        </Figure>
        <Figure name="Failed attempts" value={format.short(hub.events.nacked)} note="nacked since the start" tone={rising(level(3)) ? "warn" : "plain"}>
          <Spark values={differences(level(3))} label="failed attempts" />
        </Figure>
        <Figure name="Dead letters" value={format.exact(hub.dead_letters)} note={`${format.exact(hub.events.dead_lettered)} since the start`} tone={hub.dead_letters > 0 ? "bad" : "ok"} link="#/dead-letters">
          <Spark values={level(2)} label="dead letters" />
        </Figure>
        <Figure name="Connections" value={format.exact(hub.ws_connections)} note={`${format.many(hub.topics, "topic")}, ${format.many(hub.groups, "group")}`}>
          <Spark values={level(4)} label="connections" />
        </Figure>
        <Figure name="Stored" value={format.bytes(hub.store.bytes)} note={hub.rss_bytes ? `${format.bytes(hub.rss_bytes)} of memory` : undefined}>
          <Spark values={level(5)} label="bytes stored" />
        </Figure>
      </div>
      <Troubles of={hub.background ?? []} />
      <Panel title="Events per second" aside={<span class="muted">since this page was opened</span>}>
        <Chart series={rates.value} curves={CURVES} label="Events per second" />
      </Panel>
      <FurthestBehind />
    </>
  );
}

/** More are in `/stats`. */
const TROUBLES = 8;

/** Work in the background, and flows, that are stuck. */
function Troubles({ of }: { of: readonly BackgroundView[] }) {
  const failed = of.filter((one) => one.failed != null);
  return (
    <>
      {failed.slice(0, TROUBLES).map((one) => (
        <p key={one.work} class="explanation warn">
          <strong class="mono">{one.work}</strong> {one.failed}
        </p>
      ))}
    </>
  );
}

function FurthestBehind() {
  const all = lags.value;
  if (all === undefined) return null;
  const behind = [...all].filter((lag) => lag.lagEvents > 0).sort((one, other) => other.lagMs - one.lagMs);
  return (
    <Panel title="Groups that are behind" aside={<a href="#/groups">all groups</a>} flush>
      {behind.length === 0 ? (
        <Empty title={all.length === 0 ? "No groups yet" : "No group is behind"} />
      ) : (
        <LagTable rows={behind.slice(0, 8)} />
      )}
    </Panel>
  );
}

export function LagTable({ rows }: { rows: readonly LagView[] }) {
  return (
    <Table
      label="Lag"
      rows={rows}
      keyOf={(lag) => `${lag.topic} ${lag.group}`}
      columns={[
        { name: "Group", show: (lag) => <><a class="mono" href={href(["groups", lag.group], { why: lag.topic })}>{lag.group}</a><div class="mono muted narrow-only">{lag.topic}</div></> },
        { name: "Topic", wide: true, show: (lag) => <a class="mono" href={href(["topics", lag.topic])}>{lag.topic}</a> },
        { name: "Behind", number: true, show: (lag) => format.exact(lag.lagEvents) },
        { name: "Oldest", number: true, show: (lag) => (lag.lagEvents > 0 ? format.duration(lag.lagMs) : "–") },
        { name: "In flight", number: true, wide: true, show: (lag) => format.exact(lag.inFlight) },
        { name: "Over time", wide: true, show: (lag) => <Spark values={lagOver(lag.topic, lag.group).values[0] ?? []} label="events behind over time" /> },
        { name: "", wide: true, show: (lag) => <a href={href(["groups", lag.group], { why: lag.topic })}>Why?</a> },
      ]}
    />
  );
}

/** For those who do not operate the hub as a whole. */
function Welcome() {
  const rights = me.value?.rights;
  const can = [
    may("ops") && <li key="o">see <a href="#/topics">topics</a> and <a href="#/groups">groups</a> that your token covers</li>,
    may("subscribe") && <li key="s">follow events in the <a href="#/tail">live tail</a></li>,
    may("publish") && <li key="p"><a href="#/publish">publish</a> an event</li>,
  ].filter(Boolean);
  return (
    <>
      <Head title="Overview" />
      <Panel>
        {can.length === 0 || rights === undefined ? (
          <Empty title="This token allows nothing here">Ask for a token with scopes such as ops or subscribe:orders.**</Empty>
        ) : (
          <>
            <p>The figures of the whole hub need the right <code>ops</code> on everything. With this token you can:</p>
            <ul>{can}</ul>
          </>
        )}
      </Panel>
    </>
  );
}

function differences(values: readonly number[]): number[] {
  return values.slice(1).map((value, at) => Math.max(0, value - (values[at] ?? value)));
}

function rising(values: readonly number[]): boolean {
  return differences(values.slice(-15)).some((value) => value > 0);
}
