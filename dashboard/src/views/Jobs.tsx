/** Replays and purges of dead letters: how they are doing, and what became of what they sent. */

import { useAsk } from "../asking.ts";
import * as format from "../format.ts";
import { ask } from "../hub.ts";
import { may } from "../session.ts";
import type { LetterJob, LetterJobs } from "../shapes.ts";
import { confirm } from "../ui/confirm.tsx";
import { Badge, Facts, Head, Panel, type Tone } from "../ui/parts.tsx";
import { Answered, Empty } from "../ui/States.tsx";

export function Jobs() {
  const asked = useAsk<LetterJobs>("/dlq/jobs", 2000);
  return (
    <>
      <p class="crumbs"><a href="#/dead-letters">Dead letters</a></p>
      <Head title="Replays and purges" />
      <Answered asked={asked} what="jobs">
        {(list) => (list.jobs.length === 0 ? <Panel flush><Empty title="None yet" /></Panel> : <>{list.jobs.map((job) => <Job key={job.job} job={job} changed={asked.again} />)}</>)}
      </Answered>
    </>
  );
}

const TITLES: Readonly<Record<LetterJob["kind"], string>> = { replay: "Replay", give_back: "Giving back", purge: "Purge" };
const DONE = { pause: "Paused", resume: "Resumed", cancel: "Cancelled" } as const;
const AFTER = { pause: "It stops after the letter at hand, and can be resumed.", resume: "It continues where it stopped.", cancel: "What is done stays done; the rest stays as it is." } as const;
const TONES: Readonly<Record<LetterJob["state"], Tone>> = { running: "info", canary: "info", paused: "warn", stopped: "bad", done: "ok", cancelled: "plain" };

export function Job({ job, changed }: { job: LetterJob; changed: () => void }) {
  const what = `the ${TITLES[job.kind].toLowerCase()} of ${job.topic}`;
  const turn = (verb: "pause" | "resume" | "cancel") =>
    confirm({
      title: `${format.sentence(verb)} ${what}?`,
      body: (
        <p>
          {format.many(job.matched, "letter")} of <code>{job.topic}</code> matched, {format.exact(job.replayed)} done so far. {AFTER[verb]}
        </p>
      ),
      // The other button only closes the dialog.
      verb: `${format.sentence(verb)} it`,
      isDangerous: verb === "cancel",
      run: async () => {
        await ask(`/dlq/jobs/${job.job}/${verb}`, { method: "POST" });
        changed();
        return `${DONE[verb]} ${what}.`;
      },
    });
  const isOver = job.state === "done" || job.state === "cancelled";
  const { acked, waiting, deadAgain } = job.outcome;
  return (
    <Panel
      title={<>{TITLES[job.kind]} of <span class="mono">{job.topic}</span> <Badge tone={TONES[job.state]}>{job.state}</Badge></>}
      aside={<span class="muted">{format.ago(job.createdTs)}{job.by != null && ` by ${job.by}`}</span>}
    >
      {job.reason !== undefined && <p class="explanation warn">{job.reason}</p>}
      <Facts
        of={[
          ["Matched", format.exact(job.matched)],
          [job.kind === "purge" ? "Purged" : job.kind === "give_back" ? "Given back" : "Sent", format.exact(job.replayed)],
          ["Skipped", format.exact(job.skipped)],
          job.kind === "purge" ? undefined : ["Outcome", <><Badge tone="ok">{format.exact(acked)} acked</Badge> <Badge tone="info">{format.exact(waiting)} waiting</Badge> <Badge tone={deadAgain > 0 ? "bad" : "plain"}>{format.exact(deadAgain)} dead again</Badge></>],
        ]}
      />
      {!isOver && may("admin") && (
        <div class="row">
          {job.state === "running" || job.state === "canary" ? <button type="button" onClick={() => turn("pause")}>Pause…</button> : <button type="button" onClick={() => turn("resume")}>Resume…</button>}
          <button type="button" class="danger" onClick={() => turn("cancel")}>Cancel…</button>
        </div>
      )}
    </Panel>
  );
}
