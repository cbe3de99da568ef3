/** What the hub has stored, asked for over HTTP: another way than the one that is tested. */

import type { EventEnvelope, Http } from "../../src/index.js";
import type { HubControl } from "./scenario.js";

export async function replay(hub: HubControl, topic: string, limit = 1000): Promise<EventEnvelope[]> {
  const answer = (await hub.getJson(`/replay?topic=${topic}&limit=${limit}`)) as { events?: EventEnvelope[] };
  return answer.events ?? [];
}

/** The floor of a group: everything below is settled. */
export async function floor(hub: HubControl, topic: string, group: string): Promise<number> {
  const answer = (await hub.getJson(`/cursors?topic=${topic}`)) as Partial<Http.CursorList>;
  return answer.cursors?.find((cursor) => cursor.group === group)?.offset ?? -1;
}

/** Events leased to the group's subscribers. */
export async function inFlight(hub: HubControl, topic: string, group: string): Promise<number> {
  const answer = (await hub.getJson(`/lag?topic=${topic}&group=${group}`)) as Http.LagView;
  return answer.inFlight;
}
