/**
 * The client of a Promethean hub, for browsers and other platforms with a global `WebSocket`; the same names as in
 * `index.ts`.
 */

import { BaseClient } from "./client.js";
import type { ClientOptions, Token } from "./options.js";
import type { AnyTopics } from "./topics.js";
import { BrowserTransport } from "./transport/browser.js";

export * from "./face.js";

export class PromClient<Topics extends object = AnyTopics> extends BaseClient<Topics> {
  /** `token` is a string, or a function that is called at every connect and before the last token expires. */
  constructor(url: string | URL, token?: Token | null, options: ClientOptions = {}) {
    super(url, token, options, options.transport ?? new BrowserTransport());
  }
}
