/** Groups: a list that the hub pages, sorts and filters; or one of them. */

import type { GroupList } from "@promethean/client/http";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { pathOf } from "../hub.ts";
import { href, route, setQuery } from "../route.ts";
import { Filter } from "../ui/Filter.tsx";
import { Pager } from "../ui/Pager.tsx";
import { Badge, Head, Panel } from "../ui/parts.tsx";
import { Answered, Empty } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";
import { Group } from "./Group.tsx";

const PAGE = 50;

export function Groups() {
  const name = route.value.path[1];
  return name === undefined ? <List /> : <Group name={name} />;
}

function List() {
  const { query } = route.value;
  const [q, sort, next] = [query.get("q") ?? "", query.get("sort") ?? "-lag_events", query.get("next") ?? ""];
  const asked = useAsk<GroupList>(pathOf("/groups", { q, sort, limit: PAGE, next }), 3000);
  return (
    <>
      <Head title="Groups" />
      <Filter label="Filter groups" placeholder="Part of the name of a group or of a topic" />
      <Panel flush>
        <Answered asked={asked} what="groups">
          {(list) =>
            list.groups.length === 0 ? (
              q === "" ? <Empty title="No groups yet">A group is made by its first subscriber: <code>prom sub orders.placed --group billing</code></Empty> : <Empty title={`No group matches ${q}`} />
            ) : (
              <>
                <Table
                  label="Groups"
                  rows={list.groups}
                  keyOf={(group) => group.group}
                  sorting={{ by: sort, set: (by) => setQuery({ sort: by, next: undefined, p: undefined }) }}
                  columns={[
                    { name: "Group", sort: "group", show: (group) => <a class="mono" href={href(["groups", group.group])}>{group.group}</a> },
                    { name: "Reads", wide: true, show: (group) => <span class="mono clip">{group.subscriptions.flatMap((one) => one.topics).join(", ")}</span> },
                    { name: "Behind", sort: "lag_events", number: true, show: (group) => lag(group.lag_events) },
                    { name: "In flight", sort: "in_flight", number: true, wide: true, show: (group) => format.exact(group.in_flight ?? 0) },
                    { name: "Subscribers", sort: "subscribers", number: true, show: (group) => (group.subscribers === 0 ? <Badge tone={(group.lag_events ?? 0) > 0 ? "bad" : "plain"}>none</Badge> : group.subscribers) },
                    { name: "Mode", wide: true, show: (group) => [...new Set(group.subscriptions.map((one) => one.options.mode))].join(", ") },
                    { name: "Created", sort: "created_ts", number: true, wide: true, show: (group) => <time title={format.dateTime(group.created_ts)}>{format.ago(group.created_ts)}</time> },
                  ]}
                />
                <Pager next={list.next} shown={list.groups.length} total={list.total} what="group" />
                {(list.silent_hubs?.length ?? 0) > 0 && <p class="stale">Not counted, because they do not answer: {list.silent_hubs?.join(", ")}</p>}
                {list.hidden === true && <p class="pager muted">There are more, which your token does not cover.</p>}
              </>
            )
          }
        </Answered>
      </Panel>
    </>
  );
}

function lag(events: number | undefined) {
  return events === undefined ? <span class="muted">–</span> : events === 0 ? <span class="muted">0</span> : format.exact(events);
}
