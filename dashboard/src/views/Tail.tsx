/**
 * The live tail: events as they are stored, by pattern and filter. The hub filters and thins, so that neither the network nor
 * the page is flooded, and says how much it left out.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import * as format from "../format.ts";
import { connection, followTopic, type RawEvent, reconnects } from "../live.ts";
import { route, stepTo } from "../route.ts";
import { useDraft } from "../ui/drafts.ts";
import { DownloadEvents } from "../ui/Download.tsx";
import { EventList } from "../ui/EventList.tsx";
import { Icon } from "../ui/Icon.tsx";
import { Badge, Head, Panel, Text } from "../ui/parts.tsx";
import { Empty } from "../ui/States.tsx";

/** What a page shows and a person can read. */
const PER_SECOND = 200;
const KEPT = 500;
/** How often the list is drawn, at most. */
const DRAW_MS = 200;

interface Counts {
  readonly seen: number;
  readonly matched: number;
  readonly sent: number;
  readonly failed: number;
}

interface Now {
  readonly events: readonly RawEvent[];
  /** In the last second. */
  readonly counts: Counts | undefined;
  readonly error: string | undefined;
  readonly filterError: string | undefined;
  readonly isLive: boolean;
}

const NOTHING: Now = { events: [], counts: undefined, error: undefined, filterError: undefined, isLive: false };

/** Follows for as long as the topic and the filter are the same. */
function useTail(topic: string, filter: string, isPaused: boolean): Now & { clear: () => void; missed: number } {
  const [now, setNow] = useState<Now>(NOTHING);
  const [missed, setMissed] = useState(0);
  const paused = useRef(isPaused);
  paused.current = isPaused;
  useEffect(() => {
    setNow(NOTHING);
    setMissed(0);
    if (topic === "") return undefined;
    let isOver = false;
    let fresh: RawEvent[] = [];
    let skipped = 0;
    const change = (some: Partial<Now>) => !isOver && setNow((before) => ({ ...before, ...some }));
    const take = (event: RawEvent) => {
      if (paused.current) skipped++;
      else fresh.push(event);
      if (fresh.length > KEPT) fresh = fresh.slice(-KEPT);
    };
    const following = followTopic(topic, take, {
      ...(filter === "" ? {} : { filter }),
      maxPerSecond: PER_SECOND,
      onThinned: (counts) => change({ counts, ...(counts.error === undefined ? {} : { filterError: counts.error }) }),
    });
    following.agreed.then(
      (handle) => {
        change({ isLive: true });
        void handle.ended.then((error) => change({ isLive: false, error: error?.message }));
      },
      (error: unknown) => change({ error: error instanceof Error ? error.message : String(error) }),
    );
    const timer = setInterval(() => {
      if (skipped > 0) setMissed((before) => before + skipped);
      skipped = 0;
      if (fresh.length === 0) return;
      const batch = fresh.reverse();
      fresh = [];
      setNow((before) => ({ ...before, events: [...batch, ...before.events].slice(0, KEPT) }));
    }, DRAW_MS);
    return () => {
      isOver = true;
      clearInterval(timer);
      following.end();
    };
  }, [topic, filter]);
  return { ...now, missed, clear: () => setNow((before) => ({ ...before, events: [] })) };
}

export function Tail() {
  const { query } = route.value;
  const [topic, filter] = [query.get("topic") ?? "", query.get("jq") ?? ""];
  const [draft, setDraft] = useDraft({ topic: topic === "" ? "**" : topic, filter });
  const [isPaused, setPaused] = useState(false);
  const tail = useTail(topic, filter, isPaused);
  const lostBefore = useRef(reconnects.value);
  const isGap = reconnects.value > lostBefore.current;
  const submit = (event: Event) => {
    event.preventDefault();
    setPaused(false);
    lostBefore.current = reconnects.value;
    stepTo({ topic: draft.topic.trim(), jq: draft.filter.trim() });
  };
  return (
    <>
      <Head title="Live tail">
        {topic !== "" && <Live tail={tail} isPaused={isPaused} />}
      </Head>
      <form class="form bar" onSubmit={submit}>
        <Text label="Topic or pattern" mono value={draft.topic} set={(value) => setDraft({ ...draft, topic: value })} placeholder="orders.**" />
        <Text wide label="jq filter, run by the hub" mono value={draft.filter} set={(value) => setDraft({ ...draft, filter: value })} placeholder=".payload.amount > 100" />
        <button type="submit" class="primary">Follow</button>
        {topic !== "" && (
          <>
            <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
              <Icon name={isPaused ? "play" : "pause"} />
              {isPaused ? "Resume" : "Pause"}
            </button>
            <button type="button" onClick={() => { lostBefore.current = reconnects.value; tail.clear(); }}>Clear</button>
            {tail.events.length > 0 && <DownloadEvents events={tail.events} name="tail" />}
          </>
        )}
      </form>
      {tail.error !== undefined && <p class="fault" role="alert">{tail.error}</p>}
      {tail.filterError !== undefined && <p class="stale" role="alert">The filter fails on some events: {tail.filterError}</p>}
      {isGap && <p class="stale" role="status">The connection was lost and is back. Events that were stored meanwhile may be missing here; find them in the topic.</p>}
      {isPaused && <p class="stale">Paused. {tail.missed > 0 && `${format.many(tail.missed, "event")} came meanwhile and are not shown; find them in the topic.`}</p>}
      <Panel flush>
        {tail.events.length > 0 ? (
          <EventList events={tail.events} showsTopic={/[*]/.test(topic)} label="Events, newest first" />
        ) : topic === "" ? (
          <Empty title="Choose what to follow">A topic, or a pattern: <code>*</code> is one segment, <code>**</code> any number.</Empty>
        ) : (
          <Empty title={tail.isLive ? "Waiting for events" : tail.error === undefined ? "Connecting" : "Nothing is followed"} />
        )}
      </Panel>
      {tail.events.length >= KEPT && <p class="muted">The newest {KEPT} are shown.</p>}
    </>
  );
}

/** `200/s of 5 000`. */
function Live({ tail, isPaused }: { tail: Now; isPaused: boolean }) {
  const { counts } = tail;
  if (connection.value === "lost") return <Badge tone="bad">connection lost, trying again</Badge>;
  if (!tail.isLive) return null;
  const isThinned = counts !== undefined && counts.sent < counts.matched;
  return (
    <span class="live" role="status">
      <Badge tone={isPaused ? "warn" : "ok"}>{isPaused ? "paused" : "live"}</Badge>
      {counts !== undefined && (
        <Badge tone={isThinned ? "warn" : "plain"} title="shown, of those that matched in the last second">
          {format.exact(counts.sent)}/s of {format.exact(counts.matched)}
          {counts.seen !== counts.matched && ` matching, of ${format.exact(counts.seen)}`}
        </Badge>
      )}
      {counts !== undefined && counts.failed > 0 && <Badge tone="bad">{format.exact(counts.failed)} failed the filter</Badge>}
    </span>
  );
}
