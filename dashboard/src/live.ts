/**
 * One connection to the hub for everything that is live, by the TypeScript client. Payloads come as {@link Raw}: their text.
 */

import { PromClient, type Subscription, type TailOptions } from "@promethean/client";
import { effect, signal } from "@preact/signals";
import { base } from "./hub.ts";
import { Raw } from "./json/scan.ts";
import { me, token } from "./session.ts";

/** A stored event; its payload as it was written. */
export interface RawEvent {
  readonly id: string;
  readonly ts: number;
  readonly stored_ts: number;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key?: string;
  readonly sid?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly caused_by?: readonly string[];
  readonly tags?: readonly string[];
  readonly payload: Raw;
}

export const connection = signal<"idle" | "connecting" | "connected" | "lost">("idle");

/** Grows when the connection is back after it was lost: what was stored meanwhile may not have come. */
export const reconnects = signal(0);

let current: { client: PromClient; key: string } | undefined;

/** The client for the present token. It connects when it is first used. */
export function client(): PromClient {
  const key = `${token.value}\n${me.value?.websocket_port ?? ""}`;
  if (current?.key === key) return current.client;
  void current?.client.close();
  connection.value = "connecting";
  const made = new PromClient(socketUrl(), token.value === "" ? null : token.value, {
    payloads: {
      parse: (text) => new Raw(text),
      stringify: (payload) => (payload instanceof Raw ? payload.text : undefined),
    },
    giveUpAfterMs: 10_000,
    onNotice: (notice) => {
      if (current?.client !== made) return;
      if (notice.type === "connected") {
        if (connection.value === "lost") reconnects.value++;
        connection.value = "connected";
      }
      else if (notice.type === "disconnected") connection.value = "lost";
    },
  });
  current = { client: made, key };
  return made;
}

/** A token that is given up takes its connection with it. */
effect(() => {
  const isOver = token.value;
  if (current !== undefined && !current.key.startsWith(`${isOver}\n`)) {
    void current.client.close();
    current = undefined;
    connection.value = "idle";
  }
});

function socketUrl(): URL {
  const url = new URL("ws", base);
  url.protocol = base.protocol === "https:" ? "wss:" : "ws:";
  const port = me.value?.websocket_port;
  if (port !== undefined) {
    url.port = String(port);
    url.pathname = "/ws";
  }
  return url;
}

/** Ends of subscriptions that are under way: a connection follows a topic once at a time. */
let leaving: Promise<unknown> = Promise.resolve();

export interface Following {
  /** Resolves when the hub has agreed. */
  readonly agreed: Promise<Subscription>;
  readonly end: () => void;
}

/** Follows a topic or a pattern, without a group. */
export function followTopic(topic: string, take: (event: RawEvent) => void, options: TailOptions): Following {
  const agreed = leaving.then(() => client().subscribe(topic, null, (event) => take(event as unknown as RawEvent), options));
  const end = () => {
    leaving = agreed.then((handle) => handle.unsubscribe()).catch(() => undefined);
  };
  return { agreed, end };
}
