/** Topics: a list that the hub pages, sorts and filters; or one of them. */

import type { TopicList } from "@promethean/client/http";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { pathOf } from "../hub.ts";
import { href, route, setQuery } from "../route.ts";
import { may } from "../session.ts";
import { Pager } from "../ui/Pager.tsx";
import { Badge, Head, Panel } from "../ui/parts.tsx";
import { Answered, Empty } from "../ui/States.tsx";
import { Filter } from "../ui/Filter.tsx";
import { Table } from "../ui/Table.tsx";
import { Topic } from "./Topic.tsx";

const PAGE = 50;

export function Topics() {
  const name = route.value.path[1];
  return name === undefined ? <List /> : <Topic name={name} />;
}

function List() {
  const { query } = route.value;
  const [q, sort, next] = [query.get("q") ?? "", query.get("sort") ?? "topic", query.get("next") ?? ""];
  const asked = useAsk<TopicList>(pathOf("/topics", { q, sort, limit: PAGE, next }), 3000);
  return (
    <>
      <Head title="Topics">{may("publish") && <a class="button" href="#/publish">Publish</a>}</Head>
      <Filter label="Filter topics" placeholder="Part of a name, or a pattern such as orders.**" />
      <Panel flush>
        <Answered asked={asked} what="topics">
          {(list) =>
            list.topics.length === 0 ? (
              <NoTopics q={q} />
            ) : (
              <>
                <Table
                  label="Topics"
                  rows={list.topics}
                  keyOf={(topic) => topic.topic}
                  sorting={{ by: sort, set: (by) => setQuery({ sort: by, next: undefined, p: undefined }) }}
                  columns={[
                    { name: "Topic", sort: "topic", show: (topic) => <a class="mono" href={href(["topics", topic.topic])}>{topic.topic}</a> },
                    { name: "Events", sort: "events", number: true, show: (topic) => format.exact(topic.events) },
                    { name: "In", sort: "events_per_s", number: true, show: (topic) => format.rate(topic.events_per_s) },
                    { name: "Size", sort: "bytes", number: true, show: (topic) => format.bytes(topic.bytes) },
                    { name: "Partitions", sort: "partitions", number: true, wide: true, show: (topic) => topic.settings.partitions },
                    { name: "Retention", wide: true, show: (topic) => kept(topic.settings) },
                    { name: "Schema", wide: true, show: (topic) => (topic.schema_version ? <a href={href(["schemas", topic.topic])}>v{topic.schema_version}</a> : <span class="muted">none</span>) },
                  ]}
                />
                <Pager next={list.next} shown={list.topics.length} total={list.total} what="topic" />
                {list.hidden === true && <p class="pager muted">There are more, which your token does not cover.</p>}
              </>
            )
          }
        </Answered>
      </Panel>
    </>
  );
}

function NoTopics({ q }: { q: string }) {
  if (q !== "") return <Empty title={`No topic matches ${q}`} />;
  return (
    <Empty title="No topics yet">
      A topic is made by its first event: <code>prom pub orders.placed '{"{"}"id":1{"}"}'</code>
    </Empty>
  );
}

export function kept(settings: TopicList["topics"][number]["settings"]) {
  const { retention, compaction } = settings;
  const parts = [
    retention.age_ms ? format.duration(retention.age_ms) : undefined,
    retention.size_bytes ? format.bytes(retention.size_bytes) : undefined,
  ].filter((part) => part !== undefined);
  return (
    <>
      {parts.length === 0 ? (compaction ? "latest of each key" : "forever") : parts.join(", ")} {compaction && <Badge tone="info">compacted</Badge>}
    </>
  );
}
