/** Rows of an outbox: what waits, what failed and with what; trying rows in error again, or letting them go. */

import type { FlowRowList, FlowRowView } from "@promethean/client/http";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { pathOf } from "../hub.ts";
import { href, route, setQuery } from "../route.ts";
import { may } from "../session.ts";
import { confirm } from "../ui/confirm.tsx";
import { Badge, Choice, Panel, Text, type Tone } from "../ui/parts.tsx";
import { Answered, Empty } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";
import { change, flowPath } from "./changeFlow.ts";

const SHOWN = 100;
const STATUSES = ["error", "pending", "claimed", "sent"] as const;
const TONES: Readonly<Record<string, Tone>> = { error: "bad", pending: "info", claimed: "warn", sent: "ok" };

type Chosen = Readonly<{ ids?: readonly string[]; topic?: string; key?: string; all?: boolean }>;

export function OutboxRows({ name, changed }: { name: string; changed: () => void }) {
  const { query } = route.value;
  const [status, topic, key] = [query.get("status") ?? "error", query.get("topic") ?? "", query.get("key") ?? ""];
  const asked = useAsk<FlowRowList>(pathOf(`${flowPath("outbox", name)}/rows`, { status: status === "any" ? "" : status, topic, key, limit: SHOWN }), 3000);
  const isSteered = may("admin", "everywhere");
  const again = () => {
    asked.again();
    changed();
  };
  const those: Chosen = topic === "" && key === "" ? { all: true } : { ...(topic === "" ? {} : { topic }), ...(key === "" ? {} : { key }) };
  const found = asked.data?.rows.length ?? 0;
  return (
    <Panel
      title="Rows"
      aside={
        isSteered && status === "error" && found > 0 && (
          <span class="row">
            <button type="button" class="small" onClick={() => requeue(name, those, countOf(found), again)}>Requeue these…</button>
            <button type="button" class="small danger" onClick={() => letGo(name, those, countOf(found), again)}>Drop these…</button>
          </span>
        )
      }
    >
      <div class="form">
        <Choice label="Status" value={status} set={(value) => setQuery({ status: value })} of={[...STATUSES.map((one) => [one, one] as const), ["any", "any"]]} />
        <Text label="Topic" mono value={topic} set={(value) => setQuery({ topic: value })} placeholder="any" />
        <Text label="Key" mono value={key} set={(value) => setQuery({ key: value })} placeholder="any" />
      </div>
      <Answered asked={asked} what="rows">
        {({ rows }) =>
          rows.length === 0 ? (
            <Empty title={status === "error" ? "No such row is in error" : "No such rows"} />
          ) : (
            <>
              <Table
                label="Rows"
                rows={rows}
                keyOf={(row) => row.id}
                columns={[
                  { name: "Row", show: placeOf },
                  ...(status === "any" ? [{ name: "Status", show: (row: FlowRowView) => <Badge tone={TONES[row.status] ?? "plain"}>{row.status}</Badge> }] : []),
                  { name: "Error", show: (row) => <span class="error-text">{row.last_err ?? ""}</span> },
                  { name: "Written", number: true, wide: true, show: (row) => format.ago(row.ts) },
                  { name: "Failed tries", number: true, wide: true, show: (row) => row.attempts },
                  { name: "", show: (row) => isSteered && row.status === "error" && <OneRow outbox={name} row={row} changed={again} /> },
                ]}
              />
              {rows.length >= SHOWN && <p class="muted">The {SHOWN} oldest; filter by topic or key to see others.</p>}
            </>
          )
        }
      </Answered>
    </Panel>
  );
}

function placeOf(row: FlowRowView) {
  return (
    <span class="mono">
      <span class="clip" title={row.id}>{row.id}</span>
      <br />
      <a class="clip" href={href(["topics", row.topic])}>{row.topic}</a> {row.key !== undefined && <span class="clip muted" title={row.key}>{row.key}</span>}
    </span>
  );
}

function OneRow({ outbox, row, changed }: { outbox: string; row: FlowRowView; changed: () => void }) {
  const only = { ids: [row.id] };
  return (
    <span class="row">
      <button type="button" class="small" onClick={() => requeue(outbox, only, "1 row", changed)}>Requeue…</button>
      <button type="button" class="small" onClick={() => letGo(outbox, only, "1 row", changed)}>Drop…</button>
    </span>
  );
}

/** A page that is full does not say how many there are. */
const countOf = (found: number) => (found >= SHOWN ? `${SHOWN} rows or more` : format.many(found, "row"));

function which(chosen: Chosen) {
  if (chosen.ids !== undefined) return <code class="flow-place">{chosen.ids.join(", ")}</code>;
  if (chosen.all === true) return <>all that are in error</>;
  return (
    <>
      those in error{chosen.topic !== undefined && <> of topic <code>{chosen.topic}</code></>}{chosen.key !== undefined && <> of key <code>{chosen.key}</code></>}
    </>
  );
}

function requeue(outbox: string, chosen: Chosen, count: string, changed: () => void): void {
  confirm({
    title: `Requeue ${count}?`,
    body: <p>Rows of <code>{outbox}</code>: {which(chosen)}. They are pending again, and go out in the order of their key.</p>,
    verb: "Requeue",
    run: () => change("outbox", outbox, "requeue", chosen, changed),
  });
}

function letGo(outbox: string, chosen: Chosen, count: string, changed: () => void): void {
  confirm({
    title: `Drop ${count}?`,
    body: <p>Rows of <code>{outbox}</code>: {which(chosen)}. They are never published; rows of the same keys that wait behind them are published next.</p>,
    verb: "Drop",
    isDangerous: true,
    run: () => change("outbox", outbox, "drop", chosen, changed),
  });
}
