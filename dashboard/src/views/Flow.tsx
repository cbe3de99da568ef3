/** One flow: where it stands, how long it takes, what is wrong and what can be done. */

import type { FlowKindView, FlowView } from "@promethean/client/http";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { may } from "../session.ts";
import { confirm } from "../ui/confirm.tsx";
import { Copy } from "../ui/Copy.tsx";
import { Facts, Figure, Head, Panel } from "../ui/parts.tsx";
import { Answered, Empty } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";
import { change, flowPath } from "./changeFlow.ts";
import { helps, isUnwell, oldest, stageWords, stateWords, TONES, tries } from "./flowWords.ts";
import { OutboxRows } from "./OutboxRows.tsx";
import { SeekFeed } from "./SeekFeed.tsx";

export function Flow({ kind, name }: { kind: FlowKindView; name: string }) {
  const asked = useAsk<FlowView>(flowPath(kind, name), 2000);
  const isSteered = may("admin", "everywhere");
  return (
    <>
      <p class="crumbs"><a href="#/feeds">Flows</a></p>
      <Head title={name} mono>
        {isSteered && kind === "projection" && <button type="button" class="danger" onClick={() => rebuild(name, asked.again)}>Rebuild…</button>}
        {isSteered && <button type="button" onClick={() => restart(kind, name, asked.again)}>Restart…</button>}
      </Head>
      <Answered asked={asked} what={name}>
        {(flow) => (
          <>
            <Figures flow={flow} />
            <Standing flow={flow} />
            <Stages flow={flow} />
            {kind === "feed" && isSteered && <SeekFeed name={name} done={asked.again} />}
            {kind === "outbox" && <OutboxRows name={name} changed={asked.again} />}
          </>
        )}
      </Answered>
    </>
  );
}

function Figures({ flow }: { flow: FlowView }) {
  const { read, written, skipped, failed } = flow.counts;
  return (
    <div class="figures">
      <Figure name="State" value={<span class="figure-text">{stateWords(flow.state)}</span>} tone={TONES[flow.state] ?? "plain"} />
      {flow.pending !== undefined && <Figure name="Waiting" value={format.exact(flow.pending)} tone={flow.pending > 0 ? "info" : "ok"} note={flow.oldest_ts === undefined ? undefined : `the oldest for ${oldest(flow)}`} />}
      <Figure name="Read" value={format.short(read)} note="since the hub started" />
      <Figure name="Written" value={format.short(written)} note={`${format.exact(skipped)} skipped`} />
      <Figure name="Failed" value={format.exact(failed)} tone={failed > 0 ? "bad" : "ok"} />
    </div>
  );
}

function Standing({ flow }: { flow: FlowView }) {
  const commands = helps(flow);
  const details = Object.entries(flow.details ?? {});
  return (
    <Panel title={<span class="mono">{flow.from} → {flow.to}</span>}>
      {flow.error !== undefined && (
        <>
          <p class={`explanation ${isUnwell(flow) ? TONES[flow.state] : "info"}`}>{flow.error.reason}</p>
          <p class="muted">{tries(flow)}</p>
        </>
      )}
      <Facts
        of={[
          flow.position === undefined ? undefined : ["Position", <span class="mono flow-place">{flow.position}</span>],
          ...details.map(([name, detail]) => [stageWords(name), <span class="mono flow-place">{detail}</span>] as const),
        ]}
      />
      {commands.length > 0 && (
        <details>
          <summary>On the command line</summary>
          <ul class="commands">
            {commands.map(([command, what]) => (
              <li key={command}>
                {what}
                <div class="command"><code>{command}</code><Copy text={command} label={`Copy: ${command}`} /></div>
              </li>
            ))}
          </ul>
        </details>
      )}
    </Panel>
  );
}

function Stages({ flow }: { flow: FlowView }) {
  return (
    <Panel title="How long it takes" aside={<span class="muted">recent, on this hub</span>} flush>
      {flow.stages.length === 0 ? (
        <Empty title={flow.state === "elsewhere" ? "Another hub measures it" : "No measurements yet"} />
      ) : (
        <Table
          label="Stages"
          rows={flow.stages}
          keyOf={(stage) => stage.name}
          columns={[
            { name: "Stage", show: (stage) => stageWords(stage.name) },
            { name: "Median", number: true, show: (stage) => `${format.exact(stage.p50_ms)} ms` },
            { name: "99th percentile", number: true, show: (stage) => `${format.exact(stage.p99_ms)} ms` },
            { name: "Latest", number: true, wide: true, show: (stage) => `${format.exact(stage.last_ms)} ms` },
          ]}
        />
      )}
    </Panel>
  );
}

function restart(kind: FlowKindView, name: string, changed: () => void): void {
  confirm({
    title: `Restart ${name}?`,
    body: <p>The {kind} <code>{name}</code> is tried again now, also if it has stopped. It resumes where it stopped.</p>,
    verb: "Restart",
    run: () => change(kind, name, "restart", undefined, changed),
  });
}

function rebuild(name: string, changed: () => void): void {
  confirm({
    title: `Rebuild ${name}?`,
    body: <p>The collection of <code>{name}</code> is built anew from the first retained event, beside the old one. They are swapped when the new one has caught up; what retention removed is not in it.</p>,
    verb: "Rebuild",
    isDangerous: true,
    run: () => change("projection", name, "rebuild", undefined, changed),
  });
}
