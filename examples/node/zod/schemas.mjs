// Topics whose schemas are written in Zod 4. `node schemas.mjs` writes them as JSON Schema into `schemas/`, from where the hub,
// `prom codegen` and everybody else read them: `prom codegen ts --folder schemas --out topics.ts`.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";

const address = z.object({ street: z.string().min(1), zip: z.string().regex(/^\d{5}$/) }).meta({ id: "Address" });

const payment = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("card"), last4: z.string().length(4) }),
  z.object({ kind: z.literal("invoice"), to: address, due_days: z.int().min(0) }),
]);

export const orderPlaced = z
  .object({
    id: z.uuid(),
    status: z.enum(["new", "paid", "sent"]),
    lines: z.array(z.strictObject({ sku: z.string(), count: z.int().positive() })).min(1),
    totals: z.record(z.string(), z.number()),
    position: z.tuple([z.number(), z.number()]).optional(),
    note: z.string().max(200).nullable(),
    gift: z.boolean().optional(),
    address,
    payment,
  })
  .meta({ title: "An order that a customer placed" });

/** What each topic takes, by version. A published version stays as it is; a change is a new one. */
export const topics = { "orders.placed": { 1: orderPlaced } };

/** Publishers write what goes into a schema, so that is the side that is exported. */
export function write(folder) {
  for (const [topic, versions] of Object.entries(topics)) {
    mkdirSync(join(folder, topic), { recursive: true });
    for (const [version, schema] of Object.entries(versions)) {
      const text = JSON.stringify(z.toJSONSchema(schema, { io: "input" }), null, 2);
      writeFileSync(join(folder, topic, `v${version}.json`), `${text}\n`);
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) write("schemas");
