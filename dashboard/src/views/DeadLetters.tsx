/** Dead letters: of which topics, grouped by what went wrong; or those of one topic. */

import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { pathOf } from "../hub.ts";
import { href, route } from "../route.ts";
import type { LetterError, LetterErrors, LetterTopic } from "../shapes.ts";
import { Badge, Head, Panel } from "../ui/parts.tsx";
import { Answered, Empty, Forbidden } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";
import { Jobs } from "./Jobs.tsx";
import { Letters } from "./Letters.tsx";

export function DeadLetters() {
  const topic = route.value.path[1];
  if (topic === undefined) return <Errors />;
  // No topic has such a name.
  return topic === "~jobs" ? <Jobs /> : <Letters topic={topic} />;
}

function Errors() {
  const asked = useAsk<LetterErrors>("/dlq/groups", 4000);
  return (
    <>
      <Head title="Dead letters">
        <a class="button" href="#/dead-letters/~jobs">Replays and purges</a>
      </Head>
      <Answered asked={asked} what="dead letters">
        {(list) => (
          <>
            {list.topics.length === 0 && list.hidden === true && <Panel flush><Forbidden detail="The dead letters that there are belong to topics that your token does not cover." /></Panel>}
            {list.topics.length === 0 && list.hidden !== true && (
              <Panel flush><Empty title="No dead letters">An event lands here when a group has used up its attempts on it.</Empty></Panel>
            )}
            {list.topics.map((topic) => <OfTopic key={topic.topic} topic={topic} />)}
            {(list.omitted ?? 0) > 0 && <p class="muted">{format.many(list.omitted ?? 0, "further topic")} with dead letters.</p>}
            {list.hidden === true && list.topics.length > 0 && <p class="muted">There are more, which your token does not cover.</p>}
          </>
        )}
      </Answered>
    </>
  );
}

function OfTopic({ topic }: { topic: LetterTopic }) {
  return (
    <Panel
      title={<a class="mono" href={href(["dead-letters", topic.topic])}>{topic.topic}</a>}
      aside={<span class="muted">{format.many(topic.count, "letter")}{topic.replayed > 0 && `, ${format.exact(topic.replayed)} replayed`}</span>}
      flush
    >
      <ErrorTable topic={topic.topic} errors={topic.errors} />
    </Panel>
  );
}

export function ErrorTable({ topic, errors }: { topic: string; errors: readonly LetterError[] }) {
  return (
    <Table
      label={`Errors in ${topic}`}
      rows={errors}
      keyOf={(error) => error.fingerprint}
      columns={[
        { name: "Error", show: (error) => <a class="pattern" href={href(["dead-letters", topic], { fingerprint: error.fingerprint })}>{error.pattern}</a> },
        { name: "Letters", number: true, show: (error) => <Badge tone={error.count > error.replayed ? "bad" : "plain"}>{format.exact(error.count)}</Badge> },
        { name: "Groups", wide: true, show: (error) => <span class="mono">{error.groups.map((one) => one.group).join(", ")}</span> },
        { name: "First", number: true, wide: true, show: (error) => format.ago(error.firstTs) },
        { name: "Last", number: true, show: (error) => format.ago(error.lastTs) },
        { name: "", show: (error) => <a href={pathLink(topic, error.fingerprint)}>Replay…</a> },
      ]}
    />
  );
}

function pathLink(topic: string, fingerprint: string): string {
  return href(["dead-letters", topic], { fingerprint, tab: "replay" });
}

export function lettersPath(topic: string, query: URLSearchParams, limit: number): string {
  const of = (name: string) => query.get(name) ?? undefined;
  return pathOf("/dlq", { topic, fingerprint: of("fingerprint"), group: of("group"), err: of("err"), key: of("key"), standing: of("standing"), next: of("next"), limit });
}
