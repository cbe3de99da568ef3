/** What led to an event, what it led to, and how groups did with it. */

import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { pathOf } from "../hub.ts";
import { href } from "../route.ts";
import type { TraceAnswer, TraceDelivery, TraceNode } from "../shapes.ts";
import { eventLink } from "../ui/EventList.tsx";
import { Badge, Panel, type Tone } from "../ui/parts.tsx";
import { Answered, Empty } from "../ui/States.tsx";

export function useTrace(id: string, topic: string) {
  return useAsk<TraceAnswer>(id === "" ? null : pathOf(`/trace/${encodeURIComponent(id)}`, { topic }), 3000);
}

export function Trace({ asked }: { asked: ReturnType<typeof useTrace> }) {
  return (
    <Answered asked={asked} what="causes and effects">
      {({ trace, behind, hidden, cut }) => (
        <>
          <Panel title="Deliveries">
            {(trace.event?.deliveries?.length ?? 0) === 0 ? (
              <p class="muted">No group reads this topic.</p>
            ) : (
              <ol class="timeline">
                {trace.event?.stored_ts !== undefined && <li><Badge>stored</Badge> <time>{format.time(trace.event.stored_ts)}</time></li>}
                {trace.event?.deliveries?.map((delivery) => <Delivery key={delivery.group} delivery={delivery} topic={trace.event?.topic ?? ""} />)}
              </ol>
            )}
          </Panel>
          <Panel title="Causes and effects" aside={behind > 0 && <span class="muted">{format.many(behind, "event")} not indexed yet</span>}>
            {(trace.causes?.length ?? 0) === 0 && (trace.effects?.length ?? 0) === 0 ? (
              <Empty title="No causes and no effects" />
            ) : (
              <div class="graph">
                <Column label="Causes" nodes={trace.causes ?? []} way="causes" />
                <div class="graph-self"><Node node={trace} isSelf /></div>
                <Column label="Effects" nodes={trace.effects ?? []} way="effects" />
              </div>
            )}
            {hidden === true && <p class="muted">There is more, which your token does not cover.</p>}
            {cut === true && <p class="muted">The tree is cut at 500 events; open one of them to see more.</p>}
          </Panel>
        </>
      )}
    </Answered>
  );
}

function Column({ label, nodes, way }: { label: string; nodes: readonly TraceNode[]; way: "causes" | "effects" }) {
  return (
    <div class={`graph-column ${way}`}>
      <h3>{label}</h3>
      {nodes.length === 0 ? <p class="muted">none</p> : <Branch nodes={nodes} way={way} />}
    </div>
  );
}

function Branch({ nodes, way }: { nodes: readonly TraceNode[]; way: "causes" | "effects" }) {
  return (
    <ul>
      {nodes.map((node) => (
        <li key={node.id}>
          <Node node={node} />
          {(node[way]?.length ?? 0) > 0 && <Branch nodes={node[way] ?? []} way={way} />}
        </li>
      ))}
    </ul>
  );
}

function Node({ node, isSelf }: { node: TraceNode; isSelf?: boolean }) {
  const { event } = node;
  if (event === undefined) return <span class="graph-node gone"><span class="mono">{node.id}</span><span class="muted">gone, or your token may not read it</span></span>;
  const dead = event.deliveries?.some((delivery) => delivery.state === "dead") === true;
  const inside = (
    <>
      <strong class="mono">{event.topic}</strong>
      <span class="muted">{event.stored_ts === undefined ? `${event.partition}:${event.offset}` : format.time(event.stored_ts)}{event.key !== undefined && ` · ${event.key}`}</span>
      {dead && <Badge tone="bad">dead letter</Badge>}
      {node.repeated === true && <Badge>again</Badge>}
    </>
  );
  return isSelf === true ? <span class="graph-node self">{inside}</span> : <a class="graph-node" href={eventLink({ id: node.id, ...event })}>{inside}</a>;
}

const STATES: Readonly<Record<TraceDelivery["state"], readonly [Tone, string]>> = {
  settled: ["ok", "settled"],
  in_flight: ["info", "in flight"],
  waiting: ["warn", "failed, will be retried"],
  queued: ["plain", "queued"],
  dead: ["bad", "dead letter"],
};

function Delivery({ delivery, topic }: { delivery: TraceDelivery; topic: string }) {
  const [tone, text] = STATES[delivery.state];
  return (
    <li>
      <Badge tone={tone}>{text}</Badge> <a class="mono" href={href(["groups", delivery.group], { why: topic })}>{delivery.group}</a>
      {(delivery.attempts ?? 0) > 0 && <span class="muted"> {format.many(delivery.attempts ?? 0, "failed attempt")}</span>}
      {delivery.member !== undefined && <span class="muted"> held by {delivery.member}</span>}
      {delivery.served_by !== undefined && <span class="muted"> served by {delivery.served_by}</span>}
      {delivery.reason !== undefined && <div class="error-text">{delivery.reason}</div>}
      {delivery.letter !== undefined && (
        <div>
          <time>{format.time(delivery.letter.ts)}</time> gave up after {format.many(delivery.letter.attempts, "attempt")}: <a href={href(["dead-letters", topic], { group: delivery.group })}>{delivery.letter.err ?? "no reason was given"}</a>
        </div>
      )}
    </li>
  );
}
