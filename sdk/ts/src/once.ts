/**
 * Effects that happen exactly once, although deliveries may come again: what was handled is marked in the transaction that makes the
 * effect, so both are there or neither is. Where the effect is a publish, its id follows from the delivery, and the hub stores it
 * once.
 *
 *     const seen = mongoOnce(db.collection("handled"));
 *     await seen.prepare();
 *     await client.subscribe("orders.placed", "billing", async (event) => {
 *       await mongo.withSession((session) => session.withTransaction(() =>
 *         once(seen, session, "billing", event, () => invoices.insertOne(invoiceOf(event), { session }))));
 *     });
 */

import { invalid } from "./error.js";
import type { PublishOptions } from "./event.js";
import { idFromKey } from "./id-from-key.js";

/** How long a mark is kept: an event comes again later than that only by hand. */
export const ONCE_TTL_MS = 7 * 24 * 60 * 60 * 1000;

/** The one of ids that the hub derives, so that every client comes to the same. */
const NAMESPACE = "5f0c8a52-94a1-5c0e-8d1b-70a83f6d2b11";

/** What tells an event from all others. */
export interface OnceEvent {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
}

/** Where marks are kept. `Tx` is the transaction that they share with the effect. */
export interface OnceStore<Tx> {
  /** Marks it within the transaction; `false` if it was marked before. */
  mark(transaction: Tx, mark: string, now: Date): Promise<boolean>;
}

/** What became of an effect. */
export type Once<T> = { readonly isFirst: true; readonly value: T } | { readonly isFirst: false };

/**
 * Makes the effect unless the group handled the event before. What the effect throws is thrown on, so that the caller's
 * transaction rolls back, with the mark.
 */
export async function once<Tx, T>(
  store: OnceStore<Tx>,
  transaction: Tx,
  group: string,
  event: OnceEvent,
  effect: (transaction: Tx) => Promise<T> | T,
): Promise<Once<T>> {
  if (!(await store.mark(transaction, onceMark(group, event), new Date()))) return { isFirst: false };
  return { isFirst: true, value: await effect(transaction) };
}

/** The text under which a group's handling of an event is marked. The same in every client. */
export function onceMark(group: string, { id, topic, partition }: OnceEvent): string {
  if (typeof group !== "string" || group === "") throw invalid("the group is no text");
  return `${group}/${topic}/${partition}/${id}`;
}

/**
 * Options for a publish that is the effect of an event: publishing again stores nothing, as long as the first is retained.
 * `name` tells several effects of one event apart.
 */
export function oncePublish(group: string, event: OnceEvent, name = ""): PublishOptions {
  return { id: idFromKey(NAMESPACE, `once:${onceMark(group, event)}/${name}`), exact: true, caused_by: [event.id] };
}

/** What is used of a collection of the driver `mongodb`. */
export interface MongoMarks<Session> {
  updateOne(
    filter: { _id: string },
    update: { $setOnInsert: { at: Date } },
    options: { upsert: true; session: Session },
  ): Promise<{ upsertedCount: number }>;
  createIndex(keys: { at: 1 }, options: { name: string; expireAfterSeconds: number }): Promise<unknown>;
}

/** Marks in a MongoDB collection, in the caller's session. MongoDB removes them after `ttlMs`. */
export function mongoOnce<Session>(
  collection: MongoMarks<Session>,
  { ttlMs = ONCE_TTL_MS }: { readonly ttlMs?: number } = {},
): OnceStore<Session> & { prepare(): Promise<void> } {
  return {
    /** Makes the index by which marks expire; once, before the first mark. */
    async prepare() {
      await collection.createIndex({ at: 1 }, { name: "once_expiry", expireAfterSeconds: Math.ceil(ttlMs / 1000) });
    },
    async mark(session, mark, at) {
      // A key that is there twice would end the transaction; this only finds it.
      const marked = await collection.updateOne({ _id: mark }, { $setOnInsert: { at } }, { upsert: true, session });
      return marked.upsertedCount === 1;
    },
  };
}

/** What is used of a client of the driver `pg`, between BEGIN and COMMIT. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ rowCount: number | null }>;
}

const HOUR_MS = 60 * 60 * 1000;

/** Marks in a PostgreSQL table, in the caller's transaction. Old ones are removed every hour, with a mark. */
export function postgresOnce(
  table = "prom_once",
  { ttlMs = ONCE_TTL_MS }: { readonly ttlMs?: number } = {},
): OnceStore<PostgresClient> & { prepare(client: PostgresClient): Promise<void> } {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(table)) throw invalid(`${JSON.stringify(table)} is no plain name of a table`);
  let swept = 0;
  return {
    /** Makes the table; once, before the first mark. */
    async prepare(client) {
      await client.query(`CREATE TABLE IF NOT EXISTS ${table} (mark text PRIMARY KEY, at bigint NOT NULL)`);
      await client.query(`CREATE INDEX IF NOT EXISTS ${table}_at ON ${table} (at)`);
    },
    async mark(client, mark, now) {
      if (now.getTime() - swept >= HOUR_MS) {
        swept = now.getTime();
        await client.query(`DELETE FROM ${table} WHERE at < $1`, [swept - ttlMs]);
      }
      const sql = `INSERT INTO ${table} (mark, at) VALUES ($1, $2) ON CONFLICT DO NOTHING`;
      return (await client.query(sql, [mark, now.getTime()])).rowCount === 1;
    },
  };
}
