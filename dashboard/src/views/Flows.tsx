/** Flows between databases and the bus: all of them, by kind; or one. */

import type { FlowKindView, FlowList, FlowView } from "@promethean/client/http";
import { useRef } from "preact/hooks";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { href, route } from "../route.ts";
import { Badge, Head, Panel } from "../ui/parts.tsx";
import { Spark } from "../ui/Spark.tsx";
import { Answered, Empty } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";
import { Flow } from "./Flow.tsx";
import { isUnwell, KINDS, lastStage, oldest, stageWords, stateWords, TONES, waiting } from "./flowWords.ts";

/** Looks that a curve shows. */
const KEPT = 90;

export function Flows() {
  const [, kind, name] = route.value.path;
  if (kind === undefined || name === undefined) return <List />;
  return KINDS.some(([known]) => known === kind) ? (
    <Flow kind={kind as FlowKindView} name={name} />
  ) : (
    <Empty title={`There are no flows of kind ${kind}`}><a href="#/feeds">All flows</a></Empty>
  );
}

type Curves = Map<string, number[]>;

function List() {
  const asked = useAsk<FlowList>("/flows", 2000);
  const curves = useRef<{ seen?: FlowList; of: Curves }>({ of: new Map() });
  if (asked.data !== undefined && asked.data !== curves.current.seen) {
    curves.current = { seen: asked.data, of: append(curves.current.of, asked.data.flows) };
  }
  return (
    <>
      <Head title="Flows" />
      <Answered asked={asked} what="flows">
        {({ flows }) => (
          <>
            {KINDS.map(([kind, title, about]) => (
              <OfKind key={kind} title={title} about={about} flows={flows.filter((flow) => flow.kind === kind)} curves={curves.current.of} />
            ))}
          </>
        )}
      </Answered>
    </>
  );
}

const keyOf = (flow: FlowView) => `${flow.kind}/${flow.name}`;

function append(before: Curves, flows: readonly FlowView[]): Curves {
  const next: Curves = new Map();
  for (const flow of flows) {
    const last = lastStage(flow);
    if (last !== undefined) next.set(keyOf(flow), [...(before.get(keyOf(flow)) ?? []), last.last_ms].slice(-KEPT));
  }
  return next;
}

function OfKind({ title, about, flows, curves }: { title: string; about: string; flows: readonly FlowView[]; curves: Curves }) {
  const unwell = flows.filter(isUnwell).length;
  return (
    <Panel title={title} aside={unwell > 0 && <Badge tone="bad">{format.exact(unwell)} not moving</Badge>} flush>
      {flows.length === 0 ? (
        <Empty title={`No ${title.toLowerCase()} on this hub`}>{about}</Empty>
      ) : (
        <Table
          label={title}
          rows={flows}
          keyOf={keyOf}
          columns={[
            { name: "Name", show: (flow) => <a class="mono" href={href(["feeds", flow.kind, flow.name])}>{flow.name}</a> },
            { name: "State", show: (flow) => <Badge tone={TONES[flow.state] ?? "plain"}>{stateWords(flow.state)}</Badge> },
            { name: "From → to", wide: true, show: (flow) => <span class="mono">{flow.from} → {flow.to}</span> },
            { name: "Waiting", number: true, show: waiting },
            { name: "Oldest", number: true, wide: true, show: oldest },
            { name: "Done", number: true, wide: true, show: (flow) => format.exact(flow.counts.written) },
            { name: "Failed", number: true, wide: true, show: (flow) => (flow.counts.failed > 0 ? <Badge tone="bad">{format.exact(flow.counts.failed)}</Badge> : <span class="muted">0</span>) },
            { name: "Takes", number: true, show: latency },
            { name: "Over time", wide: true, show: (flow) => <Spark values={curves.get(keyOf(flow)) ?? []} label={`milliseconds of ${flow.name} over time`} /> },
          ]}
        />
      )}
      {flows.filter(isUnwell).map((flow) => (
        <p key={flow.name} class={`explanation flow-trouble ${TONES[flow.state]}`}>
          <strong class="mono">{flow.name}</strong> {flow.error?.reason ?? `is ${stateWords(flow.state)}`}
        </p>
      ))}
    </Panel>
  );
}

function latency(flow: FlowView) {
  const last = lastStage(flow);
  if (last === undefined) return <span class="muted">–</span>;
  return <span title={`${stageWords(last.name)}: half at most ${last.p50_ms} ms, all but one in a hundred at most ${last.p99_ms} ms`}>{format.exact(last.p50_ms)} / {format.exact(last.p99_ms)} ms</span>;
}
