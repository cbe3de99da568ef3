/** Hands out again all letters that match: first dry, then a canary, then the rest, as fast as was asked for. */

import { useState } from "preact/hooks";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { ask } from "../hub.ts";
import { compactText } from "../json/pretty.ts";
import { may } from "../session.ts";
import type { LetterJob, LettersDone } from "../shapes.ts";
import { confirm } from "../ui/confirm.tsx";
import { Badge, Facts, Panel, Text } from "../ui/parts.tsx";
import { Failure, Forbidden } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";
import { Job } from "./Jobs.tsx";

type Criteria = Readonly<Record<"fingerprint" | "group" | "err" | "key", string | undefined>>;

const SHOWN = 200;
/** The hub tries no more of them at a time. */
const DRY = 1000;

export function ReplayLetters({ topic, criteria }: { topic: string; criteria: Criteria }) {
  const [transform, setTransform] = useState("");
  const [canary, setCanary] = useState("");
  const [rate, setRate] = useState("");
  const [limit, setLimit] = useState("1000");
  const [tried, setTried] = useState<LettersDone>();
  const [error, setError] = useState<Error>();
  const [job, setJob] = useState<string>();
  if (!may("admin")) return <Forbidden detail="Replaying letters needs the right admin to their topic." />;
  const number = (text: string) => (text.trim() === "" ? undefined : Number(text));
  const request = () => ({ topic, ...criteria, transform: transform.trim() === "" ? undefined : transform, canary: number(canary), rate: number(rate), limit: number(limit) });
  const changed = (set: (value: string) => void) => (value: string) => {
    setTried(undefined);
    setError(undefined);
    set(value);
  };
  const look = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    try {
      setTried(await ask<LettersDone>("/dlq/replay", { method: "POST", body: { ...request(), dryRun: true } }));
    } catch (thrown) {
      setError(thrown as Error);
    }
  };
  // A dry run that is cut looked at the first of them only: as many as were asked for may go.
  const countOf = (found: LettersDone) => (found.more === true ? Math.max(found.replayed, number(limit) ?? DRY) : found.replayed);
  const upTo = (found: LettersDone) => (found.more === true ? "up to " : "");
  const send = (found: LettersDone) => {
    const count = countOf(found);
    confirm({
      title: `Replay ${upTo(found)}${format.many(count, "letter")}?`,
      body: (
        <p>
          {format.sentence(upTo(found))}{format.many(count, "event")} {count === 1 ? "is" : "are"} published to <code>{topic}</code>, for every group that reads it
          {canary !== "" && <>; {canary} first, the rest only if all of these are acked</>}.
        </p>
      ),
      verb: "Replay",
      count,
      run: async () => {
        // Letters that came since the dry run are not among those that the dialog named.
        const most = found.more === true ? number(limit) : found.matched;
        const done = await ask<LettersDone>("/dlq/replay", { method: "POST", body: { ...request(), limit: most } });
        setTried(undefined);
        setJob(done.job);
        return `Replayed ${format.many(done.replayed, "letter")} of ${topic} so far; ${format.exact(done.skipped)} skipped.`;
      },
    });
  };
  return (
    <>
      <Panel title="Replay the letters that match">
        <form class="form" onSubmit={look}>
          <Text wide label="Transform (jq over the original event)" mono value={transform} set={changed(setTransform)} placeholder=".payload.amount |= tonumber" hint="Empty: sent unchanged. A letter for which the program outputs nothing is skipped." />
          <Text label="Canary" type="number" value={canary} set={changed(setCanary)} placeholder="none" />
          <Text label="Events per second" type="number" value={rate} set={changed(setRate)} placeholder="no limit" />
          <Text label="At most" type="number" value={limit} set={changed(setLimit)} />
          <button type="submit">Dry run</button>
        </form>
        {error !== undefined && <Failure error={error} />}
        {tried !== undefined && (
          <>
            <Facts of={[["Match", format.exact(tried.matched)], ["Would be sent", format.exact(tried.replayed)], ["Would be skipped", format.exact(tried.skipped)]]} />
            {tried.more === true && <p class="muted">There are more: a dry run tries at most {format.exact(DRY)} letters, and no more than were asked for.</p>}
            <Table
              label="What would be sent"
              rows={(tried.wouldSend ?? []).slice(0, SHOWN)}
              keyOf={(one) => one.letter}
              columns={[
                { name: "Letter", wide: true, show: (one) => <span class="mono clip">{one.letter}</span> },
                { name: "Payload", show: (one) => <span class="mono">{compactText((one.payload ?? one.original).text, 120)}</span> },
                { name: "", show: (one) => (one.unfit !== undefined ? <Badge tone="bad" title={one.unfit}>refused: {one.unfit}</Badge> : one.edited ? <Badge tone="info">edited</Badge> : null) },
              ]}
            />
            <button type="button" class="primary" disabled={tried.replayed === 0} onClick={() => send(tried)}>
              Replay {upTo(tried)}{format.many(countOf(tried), "letter")}…
            </button>
          </>
        )}
      </Panel>
      {job !== undefined && <Running id={job} />}
    </>
  );
}

function Running({ id }: { id: string }) {
  const asked = useAsk<LetterJob>(`/dlq/jobs/${id}`, 1000);
  if (asked.data === undefined) return asked.error === undefined ? null : <Failure error={asked.error} />;
  return <Job job={asked.data} changed={asked.again} />;
}
