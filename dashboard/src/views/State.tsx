/** A live table over a topic that keeps the latest event of each key, such as process.state. */

import type { TopicList } from "@promethean/client/http";
import { useEffect, useState } from "preact/hooks";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { ask, pathOf } from "../hub.ts";
import { compactText } from "../json/pretty.ts";
import { parseKeeping, Raw } from "../json/scan.ts";
import { connection, followTopic, type RawEvent, reconnects } from "../live.ts";
import { href, route, setQuery } from "../route.ts";
import { eventLink } from "../ui/EventList.tsx";
import { Badge, Choice, Head, Panel } from "../ui/parts.tsx";
import { Answered, Empty, Failure, Forbidden, Loading } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";

/** Of a larger table only these are kept; the count says so. */
const KEYS = 2000;
/** Further keys are counted up to here. */
const COUNTED = 100_000;
const COLUMNS = 7;
const DRAW_MS = 250;
const PAGE = 1000;

interface State {
  readonly rows: ReadonlyMap<string, RawEvent>;
  readonly isWhole: boolean;
  readonly omitted: number;
  readonly error: Error | undefined;
}

const NOTHING: State = { rows: new Map(), isWhole: false, omitted: 0, error: undefined };

/** The states of processes, as the examples and `prom demo` publish them. */
const PROCESSES = "process.state";
/** More topics than this are not looked through for those that keep state; any of them can be named in the address. */
const TOPICS = 1000;

/** At `#/processes`: always the one topic. */
export function Processes() {
  return (
    <>
      <Head title="Processes" />
      <Live topic={PROCESSES} />
    </>
  );
}

export function StateView() {
  const topics = useAsk<TopicList>(pathOf("/topics", { limit: TOPICS }));
  // Where there are many topics it may be on a later page.
  const processes = useAsk<TopicList>(pathOf("/topics", { q: PROCESSES, limit: TOPICS }));
  return (
    <>
      <Head title="State" />
      <Answered asked={topics} what="topics">
        {(list) => {
          const found = [...list.topics, ...(processes.data?.topics ?? [])].filter((topic) => topic.settings.compaction != null && !/^(dlq|system)\./.test(topic.topic));
          const chosen = route.value.query.get("topic");
          const keyed = [...new Set([...found.map((topic) => topic.topic), ...(chosen === null ? [] : [chosen])])].sort();
          const topic = chosen ?? (keyed.includes(PROCESSES) ? PROCESSES : keyed[0]);
          if (topic === undefined && processes.isFirst) return <Loading what="topics" />;
          if (topic === undefined) return <Panel flush><Empty title="No compacted topics yet">A topic with <code>compaction</code> keeps the latest event of each key, and is shown here as a table.</Empty></Panel>;
          return (
            <>
              <div class="form">
                <Choice label="Topic" value={topic} set={(next) => setQuery({ topic: next })} of={keyed.map((name) => [name, name] as const)} />
              </div>
              <Live key={topic} topic={topic} />
            </>
          );
        }}
      </Answered>
    </>
  );
}

/** History first, then what is published. */
function useKeyedState(topic: string): State {
  const [state, setState] = useState(NOTHING);
  // After a lost connection everything is read again: a change in between would be missed for good.
  const round = reconnects.value;
  useEffect(() => {
    const ended = new AbortController();
    const rows = new Map<string, RawEvent>();
    /** Keys beyond those that are kept. */
    const others = new Set<string>();
    let isChanged = false;
    let isWhole = false;
    const take = (event: RawEvent) => {
      const { key } = event;
      if (key === undefined) return;
      const before = rows.get(key);
      if (before !== undefined && before.partition === event.partition && before.offset >= event.offset) return;
      isChanged = true;
      rows.delete(key);
      others.delete(key);
      if (event.payload.text === "null") return;
      if (rows.size < KEYS) rows.set(key, event);
      else if (others.size < COUNTED) others.add(key);
    };
    const fail = (thrown: unknown) => {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      if (!ended.signal.aborted) setState((before) => ({ ...before, error }));
    };
    const following = followTopic(topic, take, {});
    const read = async () => {
      let next: string | undefined;
      do {
        const page: { events: RawEvent[]; next: string; end: boolean } = await ask(pathOf("/replay", { topic, limit: PAGE, next }), { signal: ended.signal });
        page.events.forEach(take);
        next = page.end ? undefined : page.next;
        isChanged = true;
      } while (next !== undefined);
      isWhole = true;
      isChanged = true;
    };
    following.agreed
      .then(async (handle) => {
        await read();
        fail((await handle.ended) ?? new Error("the hub ended the subscription"));
      })
      .catch(fail);
    const timer = setInterval(() => {
      if (!isChanged) return;
      isChanged = false;
      setState((before) => ({ ...before, rows: new Map(rows), isWhole, omitted: others.size }));
    }, DRAW_MS);
    return () => {
      ended.abort();
      clearInterval(timer);
      following.end();
    };
  }, [topic, round]);
  return state;
}

/** Over the socket refusals come as errors of the client, with a code. */
const isDenied = (error: Error) => "code" in error && error.code === "forbidden";

function Live({ topic }: { topic: string }) {
  const { rows, isWhole, omitted, error } = useKeyedState(topic);
  if (error !== undefined && rows.size === 0) return isDenied(error) ? <Forbidden detail={error.message} /> : <Failure error={error} />;
  if (!isWhole && rows.size === 0) return <Loading what="the state" />;
  const sorted = [...rows].sort(([one], [other]) => (one < other ? -1 : 1));
  const read = new Map(sorted.map(([key, event]) => [key, members(event.payload.text)]));
  // A member that only repeats the key would take the room of one that says something.
  const isKey = (name: string) => sorted.every(([key, event]) => read.get(key)?.get(name) === event.key);
  const names = [...new Set([...read.values()].flatMap((row) => [...row.keys()]))].filter((name) => !isKey(name)).slice(0, COLUMNS);
  return (
    <>
      <p class="live" role="status">
        {error !== undefined || connection.value === "lost" ? <Badge tone="bad">not live</Badge> : <Badge tone="ok">live</Badge>}
        <Badge>{format.many(rows.size, "key")}{omitted > 0 && ` of ${omitted < COUNTED ? "" : "more than "}${format.exact(rows.size + omitted)}`}</Badge>
      </p>
      {error !== undefined && <p class="stale" role="alert">Not current: {error.message}</p>}
      {error === undefined && connection.value === "lost" && <p class="stale" role="alert">The connection is lost; trying again. What is shown is from before.</p>}
      <Panel flush>
        {rows.size === 0 ? (
          <Empty title="No live keys" />
        ) : (
          <Table
            label={`State of ${topic}`}
            rows={sorted}
            keyOf={([key]) => key}
            columns={[
              { name: "Key", show: ([, event]) => <a class="mono" href={eventLink(event)}>{event.key}</a> },
              ...names.map((name) => ({ name, show: ([key, event]: [string, RawEvent]) => name === "status" && read.get(key)?.get(name) === "stale" ? <Badge tone="warn">stale</Badge> : <span class="mono">{name === WHOLE ? compactText(event.payload.text, 120) : (read.get(key)?.get(name) ?? "")}</span> })),
              { name: "Changed", number: true, show: ([, event]) => format.ago(event.stored_ts) },
            ]}
          />
        )}
      </Panel>
      <p class="muted">From <a href={href(["topics", topic])}>{topic}</a>, which keeps the latest event of each key.</p>
    </>
  );
}

/** For payloads that are no objects. */
const WHOLE = "payload";

/** The members of a payload by their text: numbers stay as they were written. */
function members(text: string): ReadonlyMap<string, string> {
  if (!text.trimStart().startsWith("{")) return new Map([[WHOLE, text]]);
  const parsed = parseKeeping(text, { has: () => true } as unknown as ReadonlySet<string>) as Record<string, Raw>;
  return new Map(Object.entries(parsed).map(([name, value]) => [name, shown(value.text)]));
}

function shown(text: string): string {
  return text.startsWith('"') ? (JSON.parse(text) as string) : compactText(text, 60);
}
