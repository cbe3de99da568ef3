/** One letter's event with another payload: what changes is shown, the hub says whether it would be taken, then it is sent. */

import { useState } from "preact/hooks";
import { ask } from "../hub.ts";
import { prettyLines, prettyText } from "../json/pretty.ts";
import { jsonFault } from "../json/scan.ts";
import { type Letter, type LettersDone, originalOf } from "../shapes.ts";
import { confirm } from "../ui/confirm.tsx";
import { Badge, Text } from "../ui/parts.tsx";
import { Failure } from "../ui/States.tsx";
import { type Difference, lineDifference } from "./difference.ts";

export function EditLetter({ topic, letter, done }: { topic: string; letter: Letter; done: () => void }) {
  const before = originalOf(letter).payload.text;
  const [text, setText] = useState(() => prettyText(before));
  const [verdict, setVerdict] = useState<string | undefined>();
  const [error, setError] = useState<Error>();
  const fault = jsonFault(text);
  // The payload goes by its text: every digit stays.
  const body = (more: string) => `{"topic":${JSON.stringify(topic)},"ids":[${JSON.stringify(letter.id)}],"payload":${text}${more}}`;
  const look = async () => {
    setError(undefined);
    try {
      const tried = await ask<LettersDone>("/dlq/replay", { method: "POST", body: body(`,"dryRun":true`) });
      setVerdict(tried.wouldSend?.[0]?.unfit ?? (tried.matched === 0 ? "It was already replayed." : ""));
    } catch (thrown) {
      setError(thrown as Error);
    }
  };
  const send = () =>
    confirm({
      title: "Replay 1 letter, edited?",
      body: (
        <p>
          The event of letter <code>{letter.id}</code> is published to <code>{topic}</code> with the payload below, for every group that reads it.
        </p>
      ),
      verb: "Replay it",
      run: async () => {
        const result = await ask<LettersDone>("/dlq/replay", { method: "POST", body: body("") });
        if (result.replayed === 0) throw new Error(result.reason ?? "Nothing was sent: the letter was already replayed, or its payload was refused.");
        done();
        return `Replayed 1 letter of ${topic}.`;
      },
    });
  return (
    <div class="form stacked">
      <Text label="Payload to send instead" mono lines={12} value={text} set={(value) => { setText(value); setVerdict(undefined); }} fault={fault} />
      <Changes of={lineDifference(lines(before), lines(text))} />
      {error !== undefined && <Failure error={error} />}
      {verdict !== undefined && <p role="status">{verdict === "" ? <Badge tone="ok">the topic would take it</Badge> : <><Badge tone="bad">refused</Badge> {verdict}</>}</p>}
      <div class="row wrap">
        <button type="button" disabled={fault !== undefined} onClick={look}>Check, send nothing</button>
        <button type="button" class="primary" disabled={fault !== undefined || verdict !== ""} onClick={send}>Replay…</button>
        <button type="button" onClick={done}>Cancel</button>
      </div>
    </div>
  );
}

const lines = (text: string) => prettyLines(text).map((line) => "  ".repeat(line.indent) + line.pieces.map((piece) => piece.text).join(""));

function Changes({ of }: { of: readonly Difference[] }) {
  if (of.every((line) => line.kind === "same")) return <p class="muted">Nothing is changed yet.</p>;
  return (
    <pre class="difference" tabIndex={0} aria-label="What changes">
      {of.map((line, at) => (
        <div key={at} class={line.kind}>
          {line.kind === "added" ? "+ " : line.kind === "removed" ? "- " : "  "}
          {line.text}
        </div>
      ))}
    </pre>
  );
}
