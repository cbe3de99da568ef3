/** The registry: topics with schemas; or the schemas of one topic. */

import type { RegistryView } from "@promethean/client/http";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { pathOf } from "../hub.ts";
import { href, route, setQuery } from "../route.ts";
import { Pager } from "../ui/Pager.tsx";
import { Badge, Head, Panel } from "../ui/parts.tsx";
import { Filter } from "../ui/Filter.tsx";
import { Answered, Empty } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";
import { Schema } from "./Schema.tsx";

const PAGE = 50;

export function Schemas() {
  const topic = route.value.path[1];
  return topic === undefined ? <List /> : <Schema topic={topic} />;
}

function List() {
  const { query } = route.value;
  const [q, sort, next] = [query.get("q") ?? "", query.get("sort") ?? "topic", query.get("next") ?? ""];
  const asked = useAsk<RegistryView>(pathOf("/registry", { q, sort, limit: PAGE, next }), 10_000);
  return (
    <>
      <Head title="Schemas" />
      <Filter label="Filter schemas" placeholder="Part of a topic's name" />
      <Panel flush>
        <Answered asked={asked} what="schemas">
          {(registry) => {
            const rows = registry.topics;
            if (rows.length === 0) {
              return q === "" ? <Empty title="No schemas yet">Any JSON is taken. Register one: <code>prom schema register orders.placed schema.json</code></Empty> : <Empty title={`No topic matches ${q}`} />;
            }
            return (
              <>
              <Table
                label="Topics with schemas"
                rows={rows}
                sorting={{ by: sort, set: (by) => setQuery({ sort: by, next: undefined, p: undefined }) }}
                keyOf={(topic) => topic.topic}
                columns={[
                  { name: "Topic", sort: "topic", show: (topic) => <a class="mono" href={href(["schemas", topic.topic])}>{topic.topic}</a> },
                  { name: "Latest", number: true, show: (topic) => (topic.latest == null ? <Badge tone="warn">deleted</Badge> : `v${topic.latest}`) },
                  { name: "Versions", sort: "versions", number: true, show: (topic) => topic.versions.length },
                  { name: "Compatible", show: (topic) => <Badge>{topic.compat}</Badge> },
                  { name: "Upcasters", wide: true, show: (topic) => topic.upcasters.map((from) => `${from}→${from + 1}`).join(", ") || <span class="muted">none</span> },
                  { name: "Registered", sort: "latest_ts", number: true, wide: true, show: (topic) => (topic.latest_ts == null ? "–" : format.ago(topic.latest_ts)) },
                ]}
              />
              <Pager next={registry.next} shown={rows.length} total={registry.total} what="topic" />
              {registry.hidden === true && <p class="pager muted">There are more, which your token does not cover.</p>}
              </>
            );
          }}
        </Answered>
      </Panel>
    </>
  );
}
