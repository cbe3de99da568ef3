/** A live table over a topic that keeps the latest event of each key, such as process.state. */

import type { TopicList } from "@promethean/client/http";
import { useEffect, useState } from "preact/hooks";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { ask, pathOf } from "../hub.ts";
import { compactText } from "../json/pretty.ts";
import { parseKeeping, Raw } from "../json/scan.ts";
import { followTopic, type RawEvent } from "../live.ts";
import { href, route, setQuery } from "../route.ts";
import { eventLink } from "../ui/EventList.tsx";
import { Badge, Choice, Head, Panel } from "../ui/parts.tsx";
import { Answered, Empty, Loading } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";

/** Of a larger table only these are kept; the count says so. */
const KEYS = 2000;
const COLUMNS = 7;
const DRAW_MS = 250;
const PAGE = 1000;

interface State {
  readonly rows: ReadonlyMap<string, RawEvent>;
  readonly isWhole: boolean;
  readonly omitted: number;
  readonly error: string | undefined;
}

const NOTHING: State = { rows: new Map(), isWhole: false, omitted: 0, error: undefined };

export function StateView() {
  const topics = useAsk<TopicList>(pathOf("/topics", { limit: 1000 }));
  return (
    <>
      <Head title="State" />
      <Answered asked={topics} what="topics">
        {(list) => {
          const keyed = list.topics.filter((topic) => topic.settings.compaction != null && !/^(dlq|system)\./.test(topic.topic)).map((topic) => topic.topic);
          const topic = route.value.query.get("topic") ?? (keyed.includes("process.state") ? "process.state" : keyed[0]);
          if (topic === undefined) return <Panel flush><Empty title="No topic keeps state yet">A topic with <code>compaction</code> keeps the latest event of each key, and is shown here as a table.</Empty></Panel>;
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
  useEffect(() => {
    const ended = new AbortController();
    const rows = new Map<string, RawEvent>();
    let omitted = 0;
    let isChanged = false;
    let isWhole = false;
    const take = (event: RawEvent) => {
      const { key } = event;
      if (key === undefined) return;
      const before = rows.get(key);
      if (before !== undefined && before.partition === event.partition && before.offset >= event.offset) return;
      isChanged = true;
      rows.delete(key);
      if (event.payload.text === "null") return;
      if (rows.size >= KEYS) omitted++;
      else rows.set(key, event);
    };
    const fail = (error: unknown) => !ended.signal.aborted && setState((before) => ({ ...before, error: error instanceof Error ? error.message : String(error) }));
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
    following.agreed.then(read).catch(fail);
    const timer = setInterval(() => {
      if (!isChanged) return;
      isChanged = false;
      setState((before) => ({ ...before, rows: new Map(rows), isWhole, omitted }));
    }, DRAW_MS);
    return () => {
      ended.abort();
      clearInterval(timer);
      following.end();
    };
  }, [topic]);
  return state;
}

function Live({ topic }: { topic: string }) {
  const { rows, isWhole, omitted, error } = useKeyedState(topic);
  if (error !== undefined) return <p class="fault" role="alert">{error}</p>;
  if (!isWhole && rows.size === 0) return <Loading what="the state" />;
  const sorted = [...rows].sort(([one], [other]) => (one < other ? -1 : 1));
  const read = new Map(sorted.map(([key, event]) => [key, members(event.payload.text)]));
  // A member that only repeats the key would take the room of one that says something.
  const isKey = (name: string) => sorted.every(([key, event]) => read.get(key)?.get(name) === event.key);
  const names = [...new Set([...read.values()].flatMap((row) => [...row.keys()]))].filter((name) => !isKey(name)).slice(0, COLUMNS);
  return (
    <>
      <p class="live" role="status">
        <Badge tone="ok">live</Badge> <Badge>{format.many(rows.size, "key")}{omitted > 0 && ` of at least ${format.exact(rows.size + omitted)}`}</Badge>
      </p>
      <Panel flush>
        {rows.size === 0 ? (
          <Empty title="No key is alive" />
        ) : (
          <Table
            label={`State of ${topic}`}
            rows={sorted}
            keyOf={([key]) => key}
            columns={[
              { name: "Key", show: ([, event]) => <a class="mono" href={eventLink(event)}>{event.key}</a> },
              ...names.map((name) => ({ name, show: ([key, event]: [string, RawEvent]) => <span class="mono">{name === WHOLE ? compactText(event.payload.text, 120) : (read.get(key)?.get(name) ?? "")}</span> })),
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
