/** A bounded search by the hub, newest first: over text, key, headers, time or by jq. It says how much it looked at. */

import type { SavedSearch, SavedSearchList } from "@promethean/client/http";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { ask, pathOf } from "../hub.ts";
import type { RawEvent } from "../live.ts";
import { href, route, stepTo } from "../route.ts";
import type { SearchPage } from "../shapes.ts";
import { Copy } from "../ui/Copy.tsx";
import { DownloadEvents } from "../ui/Download.tsx";
import { EventList } from "../ui/EventList.tsx";
import { useDraft } from "../ui/drafts.ts";
import { Badge, Head, Panel, Text } from "../ui/parts.tsx";
import { Empty, Failure, Loading } from "../ui/States.tsx";

/** A stop in between lets a person see what was found, and go on or not. */
const WANTED = 50;
const PAGE = 50;

interface Found {
  readonly items: readonly RawEvent[];
  readonly scanned: number;
  readonly failed: number;
  readonly failure: string | undefined;
  /** Where to go on; `null` when everything was looked at. */
  readonly next: string | null;
}

const NOTHING: Found = { items: [], scanned: 0, failed: 0, failure: undefined, next: null };
const FIELDS = ["topic", "text", "jq", "key", "header", "from", "to"] as const;
type Criteria = Record<(typeof FIELDS)[number], string>;

function readCriteria(): Criteria {
  return Object.fromEntries(FIELDS.map((name) => [name, route.value.query.get(name) ?? ""])) as Criteria;
}

export function Search() {
  const asked = readCriteria();
  const [draft, setDraft] = useDraft(asked);
  const [found, setFound] = useState<Found>();
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const running = useRef<AbortController | undefined>(undefined);
  const set = (name: keyof Criteria) => (value: string) => setDraft({ ...draft, [name]: value });
  const look = async (criteria: Criteria, before: Found | undefined) => {
    running.current?.abort();
    const stopped = new AbortController();
    running.current = stopped;
    setBusy(true);
    setError(undefined);
    let all = before ?? NOTHING;
    const wanted = all.items.length + WANTED;
    try {
      do {
        const page = await ask<SearchPage>(searchPath(criteria, all.next), { signal: stopped.signal });
        all = {
          items: [...all.items, ...page.items],
          scanned: all.scanned + page.scanned,
          failed: all.failed + (page.failed ?? 0),
          failure: all.failure ?? page.failure,
          next: page.next ?? null,
        };
        setFound(all);
      } while (all.next !== null && all.items.length < wanted && !stopped.signal.aborted);
    } catch (thrown) {
      if (!stopped.signal.aborted) setError(thrown as Error);
    } finally {
      if (running.current === stopped) setBusy(false);
    }
  };
  const stop = () => {
    running.current?.abort();
    setBusy(false);
  };
  const begin = () => {
    setFound(undefined);
    setError(undefined);
    setBusy(false);
    const criteria = readCriteria();
    if (criteria.topic !== "") void look(criteria, undefined);
    return () => running.current?.abort();
  };
  // The address says what is looked for, so that a link to another search is another search.
  useEffect(begin, FIELDS.map((name) => asked[name]));
  const submit = (event: Event) => {
    event.preventDefault();
    const isSame = FIELDS.every((name) => draft[name] === asked[name]);
    if (isSame) begin();
    else stepTo(draft);
  };
  return (
    <>
      <Head title="Search" />
      <Saved />
      <form class="form" onSubmit={submit}>
        <Text label="Topic" mono value={draft.topic} set={set("topic")} placeholder="orders.placed" />
        <Text wide label="Text, anywhere in the event" value={draft.text} set={set("text")} />
        <Text label="Key" mono value={draft.key} set={set("key")} />
        <Text label="Header" mono value={draft.header} set={set("header")} placeholder="x-tenant:acme" />
        <Text wide label="jq" mono value={draft.jq} set={set("jq")} placeholder=".payload.amount > 100" />
        <Text label="Stored from" type="datetime-local" value={draft.from} set={set("from")} />
        <Text label="Stored until" type="datetime-local" value={draft.to} set={set("to")} />
        <button type="submit" class="primary" disabled={draft.topic.trim() === ""}>Search</button>
        {isBusy && <button type="button" onClick={stop}>Stop</button>}
      </form>
      {asked.topic !== "" && <Keep criteria={asked} />}
      {error !== undefined && <Panel flush><Failure error={error} /></Panel>}
      {found === undefined ? (
        isBusy ? <Loading what="the newest events" /> : error === undefined && <Panel flush><Empty title="Newest first, as far back as you like">The hub looks at a bounded number of events at a time, and says how many.</Empty></Panel>
      ) : (
        <>
          <p class="live" role="status">
            <Badge tone="info">{format.many(found.items.length, "match", "matches")} of {format.many(found.scanned, "event")} scanned</Badge>
            {found.next === null && <Badge tone="ok">whole topic searched</Badge>}
            {isBusy && <Badge>still searching…</Badge>}
            {found.items.length > 0 && <DownloadEvents events={found.items} name={asked.topic} />}
            {found.failed > 0 && <Badge tone="bad" title={found.failure ?? ""}>{format.exact(failedOf(found))} failed the program: {found.failure}</Badge>}
          </p>
          <Panel flush>
            {found.items.length === 0 ? <Empty title={found.next === null ? "Nothing matches" : "Nothing yet"} /> : <EventList events={found.items} showsTopic={false} label="Matches, newest first" />}
            {found.next !== null && !isBusy && (
              <div class="pager"><button type="button" onClick={() => look(readCriteria(), found)}>Search further back</button></div>
            )}
          </Panel>
        </>
      )}
    </>
  );
}

/** What `prom.toml` keeps. */
function Saved() {
  const searches = useAsk<SavedSearchList>("/searches").data?.searches ?? [];
  if (searches.length === 0) return null;
  return (
    <nav class="row wrap saved" aria-label="Saved searches">
      {searches.map((saved) => (
        <a key={saved.name} class="button" href={linkTo(saved)} title={`in ${saved.topic}`}>{saved.name}</a>
      ))}
    </nav>
  );
}

/** The lines of `prom.toml` that offer this search to everyone. */
function Keep({ criteria }: { criteria: Criteria }) {
  const said = (["topic", "text", "jq", "key", "header"] as const).filter((name) => criteria[name] !== "");
  const lines = ["[[search]]", `name = "a name for it"`, ...said.map((name) => `${name} = ${tomlText(criteria[name])}`)].join("\n");
  return (
    <details class="keep">
      <summary>Save this search</summary>
      <p>Add these lines to <code>prom.toml</code>, and it is offered here to everyone who may read the topic. Times are not saved.</p>
      <div class="command"><code>{lines}</code><Copy text={lines} label="Copy these lines" /></div>
    </details>
  );
}

/** A basic string of TOML: its escapes are those of JSON, which also escapes U+007F for it here. */
const tomlText = (text: string) => JSON.stringify(text).replaceAll("\u007f", "\\u007f");

function linkTo({ topic, text, jq, key, header }: SavedSearch): string {
  return href(["search"], { topic, text, jq, key, header });
}

const failedOf = (found: Found) => found.failed;

function searchPath(criteria: Criteria, next: string | null): string {
  const time = (text: string) => (text === "" ? undefined : new Date(text).getTime());
  const { topic, text, jq, key, header } = criteria;
  return pathOf("/search", { topic: topic.trim(), text, jq, key, header, fromTs: time(criteria.from), toTs: time(criteria.to), limit: PAGE, next });
}
