/** What the schema of a topic asks for: beside the form, with a sample to begin with. */

import type { SchemaVersionView, TopicSchemaView } from "@promethean/client/http";
import { useAsk } from "../asking.ts";
import { Problem } from "../hub.ts";
import { parseExactly, type Raw, writeExactly } from "../json/scan.ts";
import { prettyText } from "../json/pretty.ts";
import { href } from "../route.ts";
import { Badge, Panel } from "../ui/parts.tsx";

const NAME = /^[a-z0-9]+(\.[a-z0-9]+)*$/;

export function SchemaHelp({ topic, use }: { topic: string; use: (payload: string) => void }) {
  const path = NAME.test(topic) ? `/topics/${encodeURIComponent(topic)}/schema` : null;
  const registered = useAsk<TopicSchemaView>(path);
  const latest = registered.data?.versions.filter((version) => version.deleted !== true).at(-1);
  const asked = useAsk<Omit<SchemaVersionView, "schema"> & { schema: Raw }>(latest === undefined ? null : `${path}/${latest.version}`);
  if (path === null || registered.isFirst) return null;
  if (latest === undefined || asked.data === undefined) {
    const isMissing = registered.error instanceof Problem && registered.error.status === 404;
    return (
      <Panel title="Schema">
        <p class="muted">{registered.error === undefined || isMissing ? "This topic has no schema: it takes any JSON." : registered.error.message}</p>
      </Panel>
    );
  }
  // Samples are published: their numbers stay as the schema has them.
  const schema = parseExactly(asked.data.schema.text) as Schema;
  return (
    <Panel title={<>Schema <Badge tone="info">v{latest.version}</Badge></>} aside={<a href={href(["schemas", topic])}>all versions</a>}>
      <button type="button" onClick={() => use(prettyText(writeExactly(sample(schema, 0))))}>Start from a sample</button>
      <Properties schema={schema} />
    </Panel>
  );
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema | boolean>>;
  readonly required?: readonly string[];
  readonly items?: Schema | boolean;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly description?: string;
  readonly minimum?: unknown;
  readonly format?: string;
}

function Properties({ schema }: { schema: Schema }) {
  const all = Object.entries(schema.properties ?? {});
  if (all.length === 0) return <p class="muted">It declares no properties.</p>;
  return (
    <dl class="properties">
      {all.map(([name, of]) => (
        <div key={name}>
          <dt class="mono">
            {name} {schema.required?.includes(name) === true && <Badge tone="warn">required</Badge>}
          </dt>
          <dd>
            {typeof of === "boolean" ? "anything" : describe(of)}
            {typeof of === "object" && of.description !== undefined && <div class="muted">{of.description}</div>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function describe(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map(writeExactly).join(" | ");
  if (schema.const !== undefined) return writeExactly(schema.const);
  const types = typeof schema.type === "string" ? schema.type : (schema.type?.join(" or ") ?? "anything");
  return [types, schema.format, schema.minimum === undefined ? undefined : `at least ${writeExactly(schema.minimum)}`].filter(Boolean).join(", ");
}

/** Something of the right shape to begin with; the hub judges what becomes of it. */
function sample(schema: Schema | boolean, depth: number): unknown {
  if (typeof schema === "boolean" || depth > 5) return null;
  const given = schema.const ?? schema.default ?? schema.examples?.[0] ?? schema.enum?.[0];
  if (given !== undefined) return given;
  const type = typeof schema.type === "string" ? schema.type : schema.type?.[0];
  switch (type ?? (schema.properties === undefined ? undefined : "object")) {
    case "object": {
      const wanted = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required === undefined || schema.required.includes(name));
      return Object.fromEntries(wanted.map(([name, of]) => [name, sample(of, depth + 1)]));
    }
    case "array":
      return schema.items === undefined ? [] : [sample(schema.items, depth + 1)];
    case "string":
      return "";
    case "integer":
    case "number":
      return schema.minimum ?? 0;
    case "boolean":
      return false;
    default:
      return null;
  }
}
