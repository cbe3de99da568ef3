/** The dead letters of a topic: found, looked at, mended one by one or handed out again together. */

import { useState } from "preact/hooks";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { Json } from "../json/Json.tsx";
import { visible } from "../json/pretty.ts";
import { href, route, setQuery, stepTo } from "../route.ts";
import { may } from "../session.ts";
import { type Letter, type LetterPage, originalOf } from "../shapes.ts";
import { eventLink } from "../ui/EventList.tsx";
import { useDraft } from "../ui/drafts.ts";
import { Pager } from "../ui/Pager.tsx";
import { Badge, Facts, Head, Panel, Tabs, Text, type Tone } from "../ui/parts.tsx";
import { Answered, Empty } from "../ui/States.tsx";
import { lettersPath } from "./DeadLetters.tsx";
import { EditLetter } from "./EditLetter.tsx";
import { ReplayLetters } from "./ReplayLetters.tsx";

const PAGE = 50;

export function Letters({ topic }: { topic: string }) {
  const { query } = route.value;
  const tab = query.get("tab") ?? "letters";
  const kept = { fingerprint: query.get("fingerprint") ?? undefined, group: query.get("group") ?? undefined, err: query.get("err") ?? undefined, key: query.get("key") ?? undefined };
  const link = (id: string) => href(["dead-letters", topic], { ...kept, tab: id });
  return (
    <>
      <p class="crumbs">
        <a href="#/dead-letters">Dead letters</a>
      </p>
      <Head title={topic} mono>
        <a class="button" href={href(["topics", topic])}>Topic</a>
      </Head>
      <Criteria />
      <Tabs now={tab} of={[["letters", "Letters", link("letters")], ["replay", "Replay these", link("replay")]]} />
      {tab === "replay" ? <ReplayLetters key={JSON.stringify(kept)} topic={topic} criteria={kept} /> : <List topic={topic} />}
    </>
  );
}

/** Which letters: in the address, so that a view can be passed on. */
function Criteria() {
  const { query } = route.value;
  const [draft, setDraft] = useDraft({ err: query.get("err") ?? "", group: query.get("group") ?? "", key: query.get("key") ?? "" });
  const fingerprint = query.get("fingerprint");
  const submit = (event: Event) => {
    event.preventDefault();
    stepTo({ ...draft, next: undefined, p: undefined });
  };
  return (
    <form class="form bar" onSubmit={submit}>
      {fingerprint !== null && (
        <div class="field">
          <span class="label">Kind of error</span>
          <button type="button" onClick={() => setQuery({ fingerprint: undefined, next: undefined, p: undefined })}>
            {fingerprint} ✕
          </button>
        </div>
      )}
      <Text label="Error contains" value={draft.err} set={(err) => setDraft({ ...draft, err })} />
      <Text label="Group" mono value={draft.group} set={(group) => setDraft({ ...draft, group })} />
      <Text label="Key" mono value={draft.key} set={(key) => setDraft({ ...draft, key })} />
      <button type="submit">Find</button>
    </form>
  );
}

function List({ topic }: { topic: string }) {
  const { query } = route.value;
  const asked = useAsk<LetterPage>(lettersPath(topic, query, PAGE), 5000);
  return (
    <Panel flush>
      <Answered asked={asked} what="letters">
        {(page) => (
          <>
            {page.letters.length === 0 ? (
              <Empty title={page.next === undefined ? "No letters" : "No letters on this page"} />
            ) : (
              <ol class="events" aria-label="Letters, newest first">
                {page.letters.map((letter) => <Row key={letter.id} topic={topic} letter={letter} changed={asked.again} />)}
              </ol>
            )}
            <Pager next={page.next} shown={page.letters.length} total={undefined} what="letter" />
          </>
        )}
      </Answered>
    </Panel>
  );
}

const OUTCOMES: Readonly<Record<string, readonly [Tone, string]>> = {
  waiting: ["info", "replayed, not settled yet"],
  acked: ["ok", "replayed, settled"],
  dead_again: ["bad", "died again"],
};

function Row({ topic, letter, changed }: { topic: string; letter: Letter; changed: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const [isEdited, setEdited] = useState(false);
  const outcome = letter.replay === undefined ? undefined : OUTCOMES[letter.replay.outcome];
  return (
    <li class={isOpen ? "open" : ""}>
      <button type="button" class="event-row" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <time>{format.time(letter.ts)}</time>
        <span class="event-topic">{letter.group}</span>
        {letter.key !== undefined && <span class="event-key">{letter.key === "" ? '""' : visible(letter.key)}</span>}
        <span class="event-payload">{visible(letter.err)}</span>
        {outcome !== undefined && <Badge tone={outcome[0]}>{outcome[1]}</Badge>}
      </button>
      {isOpen && <Whole topic={topic} letter={letter} isEdited={isEdited} edit={setEdited} changed={changed} />}
    </li>
  );
}

function Whole({ topic, letter, isEdited, edit, changed }: { topic: string; letter: Letter; isEdited: boolean; edit: (on: boolean) => void; changed: () => void }) {
  const original = originalOf(letter);
  return (
    <div class="event-open">
      <p class="error-text">{visible(letter.err)}</p>
      <Facts
        of={[
          ["Event", <a class="mono" href={eventLink(original)}>{original.id}</a>],
          ["Letter", <span class="mono">{letter.id}</span>],
          ["Given up by", <a class="mono" href={href(["groups", letter.group], { why: topic })}>{letter.group}</a>],
          ["Attempts", letter.deaths > 1 ? `${letter.attempts}, died ${letter.deaths} times` : letter.attempts],
          ["Kind of error", <span class="mono">{letter.fingerprint}</span>],
          letter.replay === undefined ? undefined : ["Replayed", <>{format.ago(letter.replay.ts)}{letter.replay.by !== undefined && letter.replay.by !== null && ` by ${letter.replay.by}`}{letter.replay.edited && ", edited"}</>],
        ]}
      />
      {isEdited ? <EditLetter topic={topic} letter={letter} done={() => { edit(false); changed(); }} /> : <Json text={original.payload.text} label="payload" />}
      {!isEdited && may("admin") && letter.replay === undefined && (
        <div class="row wrap">
          <button type="button" class="primary" onClick={() => edit(true)}>Edit and replay…</button>
        </div>
      )}
    </div>
  );
}
