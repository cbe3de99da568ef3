/**
 * The client of a Promethean hub, for browsers and whatever else has a global `WebSocket`; the same names as in
 * `index.ts`.
 */

import { BaseClient } from "./client.js";
import type { ClientOptions, Token } from "./options.js";
import type { AnyTopics } from "./topics.js";
import { BrowserTransport } from "./transport/browser.js";

export * from "./face.js";

export class PromClient<Topics extends object = AnyTopics> extends BaseClient<Topics> {
  /** `token` is a string, or a function that is asked for one at every connect and before the last one expires. */
  constructor(url: string | URL, token?: Token | null, options: ClientOptions = {}) {
    super(url, token, options, options.transport ?? new BrowserTransport());
  }
}
