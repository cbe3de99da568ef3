/**
 * The client of a Promethean hub, for Node. Browsers and bundlers use `browser.ts`, with the same names.
 *
 *     const client = new PromClient("http://127.0.0.1:8090");
 *     await client.publish("orders.placed", { id: 7 }, { key: "7" });
 *     await client.subscribe("orders.*", "billing", async (event) => bill(event.payload), { from: "earliest" });
 */

import { BaseClient } from "./client.js";
import type { ClientOptions, Token } from "./options.js";
import type { AnyTopics } from "./topics.js";
import { NodeTransport } from "./transport/node.js";

export * from "./face.js";

export class PromClient<Topics extends object = AnyTopics> extends BaseClient<Topics> {
  /** `token` is a string, or a function that is called at every connect and before the last token expires. */
  constructor(url: string | URL, token?: Token | null, options: ClientOptions = {}) {
    super(url, token, options, options.transport ?? new NodeTransport(options.ca));
  }
}
