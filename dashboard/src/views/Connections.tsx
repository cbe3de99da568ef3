/** Who is connected by WebSocket, what for, and how far behind their sockets are. */

import type { ConnectionList, ConnectionView } from "@promethean/client/http";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { ask, pathOf } from "../hub.ts";
import { href, route, setQuery } from "../route.ts";
import { may } from "../session.ts";
import { confirm } from "../ui/confirm.tsx";
import { Filter } from "../ui/Filter.tsx";
import { Pager } from "../ui/Pager.tsx";
import { Badge, Head, Panel } from "../ui/parts.tsx";
import { Answered, Empty } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";

const PAGE = 50;
/** More are counted. */
const NAMED = 5;

export function Connections() {
  const { query } = route.value;
  const [q, sort, next] = [query.get("q") ?? "", query.get("sort") ?? "connection", query.get("next") ?? ""];
  const asked = useAsk<ConnectionList>(pathOf("/connections", { q, sort, limit: PAGE, next }), 2000);
  return (
    <>
      <Head title="Connections" />
      <Filter label="Filter connections" placeholder="Part of a subject, address, topic or group" />
      <Panel flush>
        <Answered asked={asked} what="connections">
          {(list) =>
            list.connections.length === 0 ? (
              <Empty title={q === "" ? "Nothing is connected" : `No connection matches ${q}`} />
            ) : (
              <>
                <Table
                  label="Connections"
                  rows={list.connections}
                  keyOf={(connection) => connection.connection}
                  sorting={{ by: sort, set: (by) => setQuery({ sort: by, next: undefined, p: undefined }) }}
                  columns={[
                    { name: "Connection", sort: "connection", show: (one) => <span class="mono">{one.connection}</span> },
                    { name: "Who", show: who },
                    { name: "Rights", wide: true, show: (one) => rights(one) },
                    { name: "Address", wide: true, show: (one) => <span class="mono">{one.address}</span> },
                    { name: "Subscribes to", sort: "subscriptions", show: subscribed },
                    { name: "Unsent", sort: "unwritten_bytes", number: true, wide: true, show: (one) => (one.unwritten_bytes === 0 ? <span class="muted">0</span> : format.bytes(one.unwritten_bytes)) },
                    { name: "Since", number: true, show: (one) => <time title={format.dateTime(one.since_ts)}>{format.ago(one.since_ts)}</time> },
                    { name: "", show: (one) => may("admin", "everywhere") && <button type="button" class="small" onClick={() => cut(one)}>Disconnect…</button> },
                  ]}
                />
                <Pager next={list.next} shown={list.connections.length} total={list.total} what="connection" />
                {list.hub !== undefined && <p class="pager muted">Connections of the hub <span class="mono">{list.hub}</span>. Other hubs on the same store list theirs.</p>}
              </>
            )
          }
        </Answered>
      </Panel>
    </>
  );
}

function who(connection: ConnectionView) {
  if (connection.speaker === "unknown") return <Badge tone="warn">not signed in yet</Badge>;
  if (connection.speaker === "hub") return <Badge tone="info">another hub</Badge>;
  return connection.subject ?? <span class="muted">no name</span>;
}

/** What its token allows: a star where that is everything. */
function rights({ rights: reach }: ConnectionView) {
  const some = ACTIONS.filter((action) => reach !== undefined && reach[action] !== "nowhere");
  if (reach === undefined || some.length === 0) return <span class="muted">nothing</span>;
  if (some.length === ACTIONS.length && some.every((action) => reach[action] === "everywhere")) return "everything";
  return some.map((action) => (reach[action] === "everywhere" ? `${action} *` : action)).join(", ");
}

const ACTIONS = ["publish", "subscribe", "ops", "admin"] as const;

function subscribed({ subscribed: some, subscriptions }: ConnectionView) {
  if (subscriptions === 0) return <span class="muted">nothing</span>;
  return (
    <span class="mono">
      {some.slice(0, NAMED).map(({ topic, group }, at) => (
        <div key={at}>
          {topic} {group === undefined ? <span class="muted">no group</span> : <a href={href(["groups", group])}>{group}</a>}
        </div>
      ))}
      {subscriptions > NAMED && <span class="muted">and {subscriptions - NAMED} more</span>}
    </span>
  );
}

function cut(connection: ConnectionView): void {
  const name = connection.connection;
  confirm({
    title: `Disconnect ${name}?`,
    body: (
      <p>
        1 connection{connection.subject !== undefined && <> of <code>{connection.subject}</code></>} from <code>{connection.address}</code> ends, with {format.many(connection.subscriptions, "subscription")}. Events that it holds go back to their groups at once. Promethean clients reconnect by themselves; to keep one out, revoke its token.
      </p>
    ),
    verb: "Disconnect",
    isDangerous: true,
    run: async () => {
      const done = await ask<{ subscriptions: number }>(`/connections/${encodeURIComponent(name)}`, { method: "DELETE" });
      return `Disconnected ${name}; ${format.many(done.subscriptions, "subscription")} ended.`;
    },
  });
}
