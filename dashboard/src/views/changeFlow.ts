/** Changes of flows: asked of the hub, and told in its words. */

import type { ActedFlow, FlowKindView } from "@promethean/client/http";
import { ask } from "../hub.ts";

export const flowPath = (kind: FlowKindView, name: string) => `/flows/${kind}/${encodeURIComponent(name)}`;

/** Asks for a change, and says what was done. */
export async function change(kind: FlowKindView, name: string, verb: string, body: unknown, changed: () => void): Promise<string> {
  const acted = await ask<ActedFlow>(`${flowPath(kind, name)}/${verb}`, { method: "POST", body });
  changed();
  // Some flows name themselves in what they say.
  return acted.done.includes(acted.name) ? acted.done : `${acted.name}: ${acted.done}`;
}
