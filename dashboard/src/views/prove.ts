/** Runs a proof on stored events, and tells how far it is as it goes: the hub answers line by line. */

import type { ProblemDocument, ProveCounts, ProveReport, ProveResult } from "@promethean/client/http";
import { Problem, send } from "../hub.ts";

export interface Proof extends ProveCounts {
  readonly done?: ProveResult;
}

export async function prove(path: string, body: string, tell: (proof: Proof) => void): Promise<void> {
  tell({ scanned: 0, failed: 0, left: 0 });
  const response = await send(path, { method: "POST", body });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    rest += value ?? "";
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.filter((one) => one.trim() !== "")) hear(JSON.parse(line) as ProveReport, tell);
    if (done) break;
  }
  if (rest.trim() !== "") hear(JSON.parse(rest) as ProveReport, tell);
}

function hear(report: ProveReport, tell: (proof: Proof) => void): void {
  if ("error" in report) throw new Problem(report.error.status, report.error as Partial<ProblemDocument>);
  if ("progress" in report) tell(report.progress);
  else tell({ scanned: report.done.scanned, failed: report.done.failed, left: 0, done: report.done });
}
