/** The schemas of one topic: versions, what changed between two and what that means, and whether a new one would do. */

import type { SchemaDiff, SchemaVerdict, SchemaVersionView, TopicSchemaView, ViolationView } from "@promethean/client/http";
import { useState } from "preact/hooks";
import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { ask, pathOf } from "../hub.ts";
import { Json } from "../json/Json.tsx";
import { prettyText } from "../json/pretty.ts";
import { jsonFault, Raw } from "../json/scan.ts";
import { href, route } from "../route.ts";
import { Badge, Facts, Head, Panel, Tabs, Text } from "../ui/parts.tsx";
import { Answered, Failure } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";
import { type Proof, prove } from "./prove.ts";

type Version = Omit<SchemaVersionView, "schema"> & { readonly schema: Raw };

export function Schema({ topic }: { topic: string }) {
  const path = `/topics/${encodeURIComponent(topic)}/schema`;
  const asked = useAsk<TopicSchemaView>(path, 10_000);
  const { query } = route.value;
  const tab = query.get("tab") ?? "versions";
  const link = (id: string) => href(["schemas", topic], { tab: id });
  return (
    <>
      <p class="crumbs">
        <a href="#/schemas">Schemas</a>
      </p>
      <Head title={topic} mono>
        <a class="button" href={href(["topics", topic])}>Topic</a>
      </Head>
      <Tabs now={tab} of={[["versions", "Versions", link("versions")], ["diff", "Compare", link("diff")], ["try", "Try a new one", link("try")], ["settings", "Settings", link("settings")]]} />
      <Answered asked={asked} what="schemas">
        {(schemas) => (
          <>
            {tab === "versions" && <Versions topic={topic} path={path} schemas={schemas} />}
            {tab === "diff" && <Compare path={path} schemas={schemas} topic={topic} />}
            {tab === "try" && <Try path={path} schemas={schemas} />}
            {tab === "settings" && <Settings schemas={schemas} />}
          </>
        )}
      </Answered>
    </>
  );
}

function Versions({ topic, path, schemas }: { topic: string; path: string; schemas: TopicSchemaView }) {
  const newest = schemas.versions.at(-1)?.version;
  const shown = Number(route.value.query.get("v") ?? newest ?? 0);
  const version = useAsk<Version>(shown > 0 ? `${path}/${shown}` : null);
  return (
    <>
      <Panel flush>
        <Table
          label="Versions"
          rows={[...schemas.versions].reverse()}
          keyOf={(one) => String(one.version)}
          columns={[
            { name: "Version", show: (one) => <a href={href(["schemas", topic], { v: one.version })} aria-current={one.version === shown ? "true" : undefined}>v{one.version}</a> },
            { name: "Id", number: true, show: (one) => one.id },
            { name: "Registered", number: true, show: (one) => <time title={format.dateTime(one.registered_ts)}>{format.ago(one.registered_ts)}</time> },
            { name: "By", wide: true, show: (one) => one.registered_by ?? <span class="muted">–</span> },
            { name: "", show: (one) => one.deleted === true && <Badge tone="warn">deleted</Badge> },
          ]}
        />
      </Panel>
      {shown > 0 && (
        <Panel title={`Version ${shown}`}>
          <Answered asked={version} what="the schema">{(one) => <Json text={one.schema.text} label="schema" />}</Answered>
        </Panel>
      )}
      {schemas.upcasters.length > 0 && (
        <Panel title="Upcasters">
          {schemas.upcasters.map((step) => (
            <div key={step.from} class="step">
              <Badge>v{step.from} → v{step.to}</Badge> <code>{step.jq}</code>
            </div>
          ))}
        </Panel>
      )}
    </>
  );
}

/** Parts of schemas, which are JSON of users. */
const COMPARED = ["before", "after"];

function Compare({ topic, path, schemas }: { topic: string; path: string; schemas: TopicSchemaView }) {
  const all = schemas.versions.map((one) => one.version);
  const { query } = route.value;
  const to = Number(query.get("to") ?? all.at(-1) ?? 0);
  const from = Number(query.get("from") ?? all.filter((one) => one < to).at(-1) ?? 0);
  const asked = useAsk<SchemaDiff>(from > 0 && from !== to ? pathOf(`${path}/diff`, { from, to }) : null, undefined, COMPARED);
  if (all.length < 2) return <Panel><p class="muted">There is one version; a comparison needs two.</p></Panel>;
  const pick = (label: string, name: "from" | "to", value: number) => (
    <span class="choose">
      <label for={`diff-${name}`}>{label}</label>
      <select id={`diff-${name}`} value={String(value)} onChange={(event) => (location.hash = href(["schemas", topic], { tab: "diff", from, to, [name]: event.currentTarget.value }))}>
        {all.map((one) => <option key={one} value={String(one)}>v{one}</option>)}
      </select>
    </span>
  );
  return (
    <>
      <div class="row wrap">{pick("From", "from", from)}{pick("to", "to", to)}</div>
      <Answered asked={asked} what="the comparison">
        {(diff) => (
          <>
            <Panel title="What it means">
              <Meaning what={`Readers of v${to} understand what v${from} wrote (backward)`} violations={diff.backward} />
              <Meaning what={`Readers of v${from} understand what v${to} writes (forward)`} violations={diff.forward} />
            </Panel>
            <Panel title={format.many(diff.changes.length, "change")} flush>
              <Table
                label="Changes"
                rows={diff.changes}
                keyOf={(change) => `${change.pointer} ${change.change}`}
                columns={[
                  { name: "Change", show: (change) => <Badge tone={change.change === "added" ? "ok" : change.change === "removed" ? "bad" : "warn"}>{change.change}</Badge> },
                  { name: "Where", show: (change) => <code>{change.pointer === "" ? "the whole" : change.pointer}</code> },
                  { name: "Before", show: (change) => <code>{text(change.before)}</code> },
                  { name: "After", show: (change) => <code>{text(change.after)}</code> },
                ]}
              />
            </Panel>
          </>
        )}
      </Answered>
    </>
  );
}

function text(part: unknown): string {
  return part instanceof Raw ? part.text : "";
}

function Meaning({ what, violations }: { what: string; violations: readonly ViolationView[] }) {
  return (
    <div class="verdict">
      <p>
        <Badge tone={violations.length === 0 ? "ok" : "bad"}>{violations.length === 0 ? "yes" : "no"}</Badge> {what}
      </p>
      <Violations of={violations} />
    </div>
  );
}

function Violations({ of }: { of: readonly ViolationView[] }) {
  if (of.length === 0) return null;
  return (
    <ul class="violations">
      {of.map((one, at) => {
        const example = one.example as Raw | undefined;
        return (
          <li key={at}>
            <code>{one.pointer === "" ? "/" : one.pointer}</code> {one.message} <Badge>{one.rule}</Badge>
            {example !== undefined && <div class="muted">For example <code>{example.text}</code></div>}
            <div class="muted">{one.fix}</div>
          </li>
        );
      })}
    </ul>
  );
}

/** Checked against the versions by the hub, and proved on what is stored. Nothing is registered from here. */
function Try({ path, schemas }: { path: string; schemas: TopicSchemaView }) {
  const newest = useAsk<Version>(schemas.versions.length === 0 ? null : `${path}/${schemas.versions.at(-1)?.version}`);
  const [text, setText] = useState<string>();
  const [upcast, setUpcast] = useState("");
  const [verdict, setVerdict] = useState<SchemaVerdict>();
  const [proof, setProof] = useState<Proof>();
  const [error, setError] = useState<Error>();
  const shown = text ?? (newest.data === undefined ? "" : prettyText(newest.data.schema.text));
  const fault = shown === "" ? undefined : jsonFault(shown);
  // The schema goes by its text: numbers in it stay as they were typed.
  const body = () => `{"schema":${shown}${upcast.trim() === "" ? "" : `,"upcast":${JSON.stringify(upcast)}`}}`;
  const attempt = async (work: () => Promise<void>) => {
    setError(undefined);
    try {
      await work();
    } catch (thrown) {
      setError(thrown as Error);
    }
  };
  const check = () => attempt(async () => setVerdict(await ask<SchemaVerdict>(`${path}/check`, { method: "POST", body: body() })));
  const onStored = () => attempt(() => prove(`${path}/prove`, body(), setProof));
  const mayRun = fault === undefined && shown !== "";
  return (
    <div class="columns">
      <Panel title="A new version, not registered">
        <div class="form stacked">
          <Text label="Schema" mono lines={18} value={shown} set={(value) => { setText(value); setVerdict(undefined); setProof(undefined); }} fault={fault} />
          <Text label="Upcaster from the version before (jq), if it needs one" mono value={upcast} set={setUpcast} placeholder=".mem_mib = .mem_mb | del(.mem_mb)" />
          <div class="row wrap">
            <button type="button" class="primary" disabled={!mayRun} onClick={check}>Check compatibility</button>
            <button type="button" disabled={!mayRun} onClick={onStored}>Prove on stored events</button>
          </div>
        </div>
      </Panel>
      <div>
        {error !== undefined && <Panel flush><Failure error={error} /></Panel>}
        {verdict !== undefined && (
          <Panel title={<>Compatibility <Badge tone={verdict.compatible ? "ok" : "bad"}>{verdict.compatible ? "compatible" : "not compatible"}</Badge></>}>
            {verdict.existing != null && <p>This is version {verdict.existing}.</p>}
            <Violations of={verdict.violations} />
            {verdict.notes?.map((note) => <p key={note} class="muted">{note}</p>)}
            {verdict.compatible && <p class="muted">Register it: <code>prom schema register TOPIC FILE</code></p>}
          </Panel>
        )}
        {proof !== undefined && <Proved proof={proof} />}
      </div>
    </div>
  );
}

function Proved({ proof }: { proof: Proof }) {
  const { scanned, failed, left, done } = proof;
  return (
    <Panel title={<>Proof <Badge tone={done === undefined ? "info" : failed === 0 ? "ok" : "bad"}>{done === undefined ? "running" : failed === 0 ? "all fit" : `${format.exact(failed)} would fail`}</Badge></>}>
      <Facts of={[["Looked at", format.many(scanned, "event")], ["Would fail", format.exact(failed)], done === undefined ? ["Left", format.exact(left)] : ["Groups that read it", done.groups.join(", ") || "none"]]} />
      {done?.failures.map((failure) => (
        <p key={failure.id}>
          <a class="mono" href={href(["events", failure.id], { at: `${failure.partition}:${failure.offset}` })}>{failure.partition}:{failure.offset}</a> {failure.reason}
        </p>
      ))}
    </Panel>
  );
}

function Settings({ schemas }: { schemas: TopicSchemaView }) {
  const { settings, overrides } = schemas;
  const fact = (label: string, name: keyof typeof settings) => [label, <>{settings[name]} {overrides[name] !== undefined && <Badge tone="info">of this topic</Badge>}</>] as const;
  return (
    <Panel>
      <Facts of={[fact("New versions must be", "compat"), fact("Open models", "policy"), fact("Formats", "formats"), fact("What cannot be decided", "undecided"), fact("Publishers that name no version", "admit"), fact("Events without a version are", "unversioned_as")]} />
    </Panel>
  );
}
