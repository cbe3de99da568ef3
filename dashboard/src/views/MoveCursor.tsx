/**
 * Moves a group's cursor. What the move does is shown per partition first, and the move is refused if the group moved since.
 */

import type { MovedCursors } from "@promethean/client/http";
import { useState } from "preact/hooks";
import * as format from "../format.ts";
import { ask, Problem } from "../hub.ts";
import { may } from "../session.ts";
import { confirm } from "../ui/confirm.tsx";
import { Choice, Panel, Text } from "../ui/parts.tsx";
import { Failure, Forbidden } from "../ui/States.tsx";
import { Table } from "../ui/Table.tsx";

type From = "earliest" | "latest" | "ts" | "afterId" | "offset";

export function MoveCursor({ group, topic }: { group: string; topic: string }) {
  const [from, setFrom] = useState<From>("earliest");
  const [value, setValue] = useState("");
  const [partition, setPartition] = useState("");
  const [preview, setPreview] = useState<MovedCursors>();
  const [error, setError] = useState<Error>();
  if (!may("admin")) return <Forbidden detail="Moving a cursor needs the right admin." />;
  const changed = <Value,>(set: (value: Value) => void) => (next: Value) => {
    setPreview(undefined);
    setError(undefined);
    set(next);
  };
  const position = () => ({
    from,
    ...(from === "ts" ? { ts: new Date(value).getTime() } : {}),
    ...(from === "afterId" ? { afterId: value.trim() } : {}),
    ...(from === "offset" ? { offset: Number(value) } : {}),
    ...(partition === "" ? {} : { partition: Number(partition) }),
  });
  const look = async (event: Event) => {
    event.preventDefault();
    try {
      setPreview(await ask<MovedCursors>("/cursors", { method: "POST", body: { topic, group, dryRun: true, ...position() } }));
    } catch (thrown) {
      setError(thrown as Error);
    }
  };
  // The hub moves nothing where the group no longer stands as the preview says.
  const move = (seen: MovedCursors) =>
    ask<MovedCursors>("/cursors", { method: "POST", body: { topic, group, ...position(), expect: seen.cursors.map(({ partition, before }) => ({ partition, before })) } });
  return (
    <Panel title="Move the cursor">
      <form class="form" onSubmit={look}>
        <Choice label="To" value={from} set={changed(setFrom)} of={[["earliest", "the earliest event"], ["latest", "the end"], ["ts", "a time"], ["afterId", "after an event"], ["offset", "an offset"]]} />
        {from === "ts" && <Text label="Time" type="datetime-local" value={value} set={changed(setValue)} />}
        {from === "afterId" && <Text label="Id of the event" mono value={value} set={changed(setValue)} />}
        {from === "offset" && <Text label="Offset" type="number" value={value} set={changed(setValue)} />}
        <Text label="Partition" type="number" value={partition} set={changed(setPartition)} placeholder="all" />
        <button type="submit" disabled={(from === "ts" || from === "afterId" || from === "offset") && value === ""}>Show what it would do</button>
      </form>
      {error !== undefined && <Failure error={error} />}
      {preview !== undefined && <Preview preview={preview} move={() => move(preview)} done={() => setPreview(undefined)} />}
    </Panel>
  );
}

const sum = (moved: MovedCursors, of: (one: MovedCursors["cursors"][number]) => number) => moved.cursors.reduce((total, one) => total + of(one), 0);

function Preview({ preview, move, done }: { preview: MovedCursors; move: () => Promise<MovedCursors>; done: () => void }) {
  const comeAgain = sum(preview, (one) => one.comeAgain);
  const skipped = sum(preview, (one) => one.skipped);
  const run = async () => {
    const result = await move().catch((error: unknown) => {
      if (!(error instanceof Problem) || error.code !== "conflict") throw error;
      done();
      throw new Error(`Nothing was moved: the group has moved since the preview. ${format.sentence(error.message)}`);
    });
    done();
    return `Moved ${result.group} in ${format.many(result.cursors.length, "partition")} of ${result.topic}: ${effectOf(result)}.`;
  };
  return (
    <>
      <Table
        label="What the move would do"
        rows={preview.cursors}
        keyOf={(one) => String(one.partition)}
        columns={[
          { name: "Partition", number: true, show: (one) => one.partition },
          { name: "From", number: true, show: (one) => format.exact(one.before) },
          { name: "To", number: true, show: (one) => format.exact(one.offset) },
          { name: "Redelivered", number: true, show: (one) => format.exact(one.comeAgain) },
          { name: "Skipped", number: true, show: (one) => format.exact(one.skipped) },
        ]}
      />
      <button
        type="button"
        class={skipped > 0 ? "primary danger" : "primary"}
        onClick={() =>
          confirm({
            title: "Move the cursor?",
            body: (
              <p>
                Group <code>{preview.group}</code> in <code>{preview.topic}</code>: {effectOf(preview)}.
              </p>
            ),
            verb: "Move it",
            isDangerous: skipped > 0,
            count: comeAgain + skipped,
            run,
          })
        }
      >
        Move it…
      </button>
    </>
  );
}

function effectOf(moved: MovedCursors): string {
  const again = format.many(sum(moved, (one) => one.comeAgain), "settled event");
  const skipped = format.many(sum(moved, (one) => one.skipped), "unsettled event");
  return `${again} delivered again, ${skipped} skipped`;
}
