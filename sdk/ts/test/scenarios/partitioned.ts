/** Partitions with one owner each: sharing them out, keeping order, coming and going. */

import type { Assignment, Http, SubscribeOptions } from "../../src/index.js";
import { equal, eventually, ok, rejectsWithCode, until } from "./expectations.js";
import { floor } from "./replay.js";
import type { HubControl, Scenario } from "./scenario.js";

/** The partitions of each member, as the hub tells; nothing while something moves. */
async function ownedBy(hub: HubControl, topic: string): Promise<Record<string, readonly number[]>> {
  const told = (await hub.getJson(`/partitions?topic=${topic}&group=g`)) as Partial<Http.PartitionList>;
  if (told.partitions?.some(({ owner, moving_to }) => owner === null || moving_to !== null) ?? true) return {};
  return Object.fromEntries(told.members?.map(({ member, partitions }) => [member, partitions]) ?? []);
}

/** Notes in `mine` what a member is told. */
function told(mine: Set<number>): Pick<SubscribeOptions, "onAssigned" | "onRevoked"> {
  return {
    onAssigned: ({ partitions }: Assignment) => partitions.forEach((one) => mine.add(one)),
    onRevoked: ({ partitions }: Assignment) => partitions.forEach((one) => mine.delete(one)),
  };
}

const DIVIDED = { mode: "partitioned", partitions: 8, from: "earliest" } as const;

export const scenarios: readonly Scenario[] = [
  {
    name: "members of a partitioned group own the partitions by key, are told which, and get each key in order",
    async run({ connect, topic, hub, sdk }) {
      const name = topic("owned");
      const publisher = await connect();
      const members = await Promise.all(["alpha", "beta"].map(async (member) => ({ member, client: await connect() })));
      const seen: { readonly key: string; readonly n: number; readonly member: string }[] = [];
      const mine = members.map(() => new Set<number>());
      await publisher.publish(name, 0, { key: "k0" });
      await Promise.all(
        members.map(({ member, client }, at) =>
          client.subscribe(name, "g", ({ key, payload }) => seen.push({ key: key ?? "", n: payload as number, member }), {
            ...DIVIDED,
            memberId: member,
            meta: { at },
            ...told(mine[at] as Set<number>),
          }),
        ),
      );
      const isShared = async () => Object.values(await ownedBy(hub, name)).filter(({ length }) => length === 4).length === 2;
      await eventually(isShared, "a fair share");
      const owned = await ownedBy(hub, name);
      await until(() => mine.every(({ size }) => size === 4), "both are told");
      members.forEach(({ member }, at) => equal([...(mine[at] as Set<number>)].sort((a, b) => a - b), owned[member]));
      const numbers = Array.from({ length: 300 }, (_, n) => n + 1);
      await Promise.all(numbers.map((n) => publisher.publish(name, n, { key: `k${n % 30}` })));
      await until(() => seen.length === 301, "all events");
      const last = new Map<string, number>();
      for (const { key, n, member } of seen.filter(({ n }) => n > 0)) {
        ok(owned[member]?.includes(sdk.partitionOf(key, 8)) ?? false, `${key} went to ${member}`);
        ok(n > (last.get(key) ?? 0), `${n} of ${key} came after ${last.get(key)}`);
        last.set(key, n);
      }
      await eventually(async () => (await floor(hub, name, "g")) === 301, "everything settled in the one cursor");
    },
  },
  {
    name: "partitions of a member that leaves go to the others, and a lost connection takes all of them for the moment",
    async run({ connect, topic, hub }) {
      const name = topic("moving");
      const [stays, leaves] = [await connect(), await connect()];
      await stays.publish(name, 0);
      const [kept, gone] = [new Set<number>(), new Set<number>()];
      await stays.subscribe(name, "g", () => {}, { ...DIVIDED, memberId: "stays", ...told(kept) });
      const one = await leaves.subscribe(name, "g", () => {}, { ...DIVIDED, memberId: "leaves", ...told(gone) });
      await until(() => kept.size === 4 && gone.size === 4, "a fair share");
      await one.unsubscribe();
      await until(() => kept.size === 8, "all of them");
      await leaves.subscribe(name, "g", () => {}, { ...DIVIDED, memberId: "leaves", ...told(gone) });
      await until(() => kept.size === 4, "a fair share again");
      await leaves.close();
      await until(() => kept.size === 8 && gone.size === 0, "what the closed one had");
      equal(await ownedBy(hub, name), { stays: [0, 1, 2, 3, 4, 5, 6, 7] });
    },
  },
  {
    name: "a subscriber that asks for another mode or another number of partitions is refused",
    async run({ connect, topic }) {
      const name = topic("agreed");
      const client = await connect();
      await client.publish(name, 0);
      await client.subscribe(name, "g", () => {}, DIVIDED);
      const other = await connect();
      await rejectsWithCode(other.subscribe(name, "g", () => {}, { mode: "shared" }), "bad_request");
      await rejectsWithCode(other.subscribe(name, "g", () => {}, { partitions: 9 }), "bad_request");
      await rejectsWithCode(other.subscribe(name, "h", () => {}, { ...DIVIDED, ttlMs: 1 }), "bad_request");
    },
  },
];
