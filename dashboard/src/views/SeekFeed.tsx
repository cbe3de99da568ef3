/** Moves a change feed to a time, or behind a change by its resume token. */

import { useState } from "preact/hooks";
import * as format from "../format.ts";
import { confirm } from "../ui/confirm.tsx";
import { Choice, Panel, Text } from "../ui/parts.tsx";
import { change } from "./changeFlow.ts";

type To = "time" | "token";

export function SeekFeed({ name, done }: { name: string; done: () => void }) {
  const [to, setTo] = useState<To>("time");
  const [time, setTime] = useState("");
  const [token, setToken] = useState("");
  const at = new Date(time).getTime();
  const isReady = to === "time" ? !Number.isNaN(at) : token.trim() !== "";
  const seek = (event: Event) => {
    event.preventDefault();
    const place = to === "time" ? format.dateTime(at) : token.trim();
    confirm({
      title: `Move ${name}?`,
      body: (
        <p>
          Feed <code>{name}</code> resumes {to === "time" ? "at" : "after"} <code class="flow-place">{place}</code>. If that is ahead of it, the changes between are skipped for good; if it is behind, they are read again.
        </p>
      ),
      verb: "Move it",
      isDangerous: true,
      run: () => change("feed", name, "seek", to === "time" ? { at } : { token: token.trim() }, done),
    });
  };
  return (
    <Panel title="Move the feed" aside={<span class="muted">only as far back as the oplog goes</span>}>
      <form class="form" onSubmit={seek}>
        <Choice label="To" value={to} set={setTo} of={[["time", "a time"], ["token", "a resume token"]]} />
        {to === "time" && <Text label="Time" type="datetime-local" value={time} set={setTime} />}
        {to === "token" && <Text wide label="Resume token" mono value={token} set={setToken} />}
        <button type="submit" disabled={!isReady}>Move it…</button>
      </form>
    </Panel>
  );
}
