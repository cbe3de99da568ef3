/** Publishes an event: what is typed goes as it is, digit by digit; the hub judges it. */

import type { Receipt } from "@promethean/client";
import { useState } from "preact/hooks";
import * as format from "../format.ts";
import { jsonFault, Raw } from "../json/scan.ts";
import { prettyText } from "../json/pretty.ts";
import { client } from "../live.ts";
import { route } from "../route.ts";
import { eventLink } from "../ui/EventList.tsx";
import { confirm } from "../ui/confirm.tsx";
import { Head, Panel, Text } from "../ui/parts.tsx";
import { SchemaHelp } from "./SchemaHelp.tsx";
import { draft } from "./draft.ts";

export function Publish() {
  const given = draft.value;
  const [topic, setTopic] = useState(given?.topic ?? route.value.query.get("topic") ?? "");
  const [key, setKey] = useState(given?.key ?? "");
  const [headers, setHeaders] = useState(Object.entries(given?.headers ?? {}).map(([name, value]) => `${name}: ${value}`).join("\n"));
  const [payload, setPayload] = useState(given === undefined ? "{}" : prettyText(given.payload));
  const [sent, setSent] = useState<{ topic: string; receipt: Receipt }>();
  const read = readHeaders(headers);
  const fault = payload.trim() === "" ? "A payload is any JSON; null is a tombstone." : jsonFault(payload);
  const mayPublish = topic.trim() !== "" && fault === undefined && typeof read !== "string";
  const publish = (event: Event) => {
    event.preventDefault();
    if (!mayPublish) return;
    const [name, text] = [topic.trim(), payload.trim()];
    confirm({
      title: `Publish 1 event to ${name}?`,
      body: <p>{key === "" ? "Without a key" : <>With the key <code>{key}</code></>}, {format.bytes(new Blob([text]).size)} of payload{given?.caused_by !== undefined && ", caused by the event it was copied from"}.</p>,
      verb: "Publish",
      run: async () => {
        const receipt = await client().publish(name, new Raw(text), {
          ...(key === "" ? {} : { key }),
          ...(typeof read === "string" || Object.keys(read).length === 0 ? {} : { headers: read }),
          ...(given?.caused_by === undefined ? {} : { caused_by: given.caused_by }),
          ...(given?.tags === undefined ? {} : { tags: given.tags }),
        });
        setSent({ topic: name, receipt });
        return <>Stored in <code>{name}</code> at offset {receipt.offset} of partition {receipt.partition} ({receipt.durability}). <a href={eventLink({ ...receipt, topic: name })}>Open it</a></>;
      },
    });
  };
  return (
    <>
      <Head title={given === undefined ? "Publish" : "Publish an edited copy"} />
      <div class="columns">
        <Panel>
          <form class="form stacked" onSubmit={publish}>
            <Text label="Topic" mono value={topic} set={setTopic} placeholder="orders.placed" />
            <Text label="Key" mono value={key} set={setKey} hint="Events of one key stay in order. May be empty." />
            <Text label="Headers" mono lines={2} value={headers} set={setHeaders} placeholder="x-tenant: acme" fault={typeof read === "string" ? read : undefined} hint="One per line; names begin with x-." />
            <Text label="Payload" mono lines={14} value={payload} set={setPayload} fault={fault} hint="Any JSON. It is stored as it is written: no number is rounded." />
            <div class="row">
              <button type="submit" class="primary" disabled={!mayPublish}>Publish…</button>
              <button type="button" disabled={fault !== undefined} onClick={() => setPayload(prettyText(payload))}>Format</button>
            </div>
            {sent !== undefined && (
              <p role="status">
                The last one: <a href={eventLink({ ...sent.receipt, topic: sent.topic })}>{sent.receipt.id}</a>
              </p>
            )}
          </form>
        </Panel>
        <SchemaHelp topic={topic.trim()} use={setPayload} />
      </div>
    </>
  );
}

/** Or what is wrong. */
function readHeaders(text: string): Record<string, string> | string {
  const headers: Record<string, string> = {};
  for (const line of text.split("\n").map((one) => one.trim()).filter((one) => one !== "")) {
    const at = line.indexOf(":");
    if (at < 1) return `"${line}" is not a header: write name: value`;
    headers[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return headers;
}
