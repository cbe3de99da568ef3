/** Where the token for AUTH comes from. */

import { PromError, reasonOf } from "./error.js";
import type { Token } from "./options.js";

export class TokenSource {
  readonly #token: Token | undefined;
  /** The last one that was fetched. */
  last: string | undefined;

  constructor(token: Token | null | undefined) {
    this.#token = token ?? undefined;
  }

  get canRefresh(): boolean {
    return typeof this.#token === "function";
  }

  /** A token that is probably fresh; none for hubs without auth. */
  async fetch(): Promise<string | undefined> {
    this.last = typeof this.#token === "function" ? await this.#ask(this.#token) : this.#token;
    return this.last;
  }

  async #ask(give: () => string | Promise<string>): Promise<string> {
    let token: unknown;
    try {
      token = await give();
    } catch (thrown) {
      throw new PromError("token_failed", `no token to connect with: ${reasonOf(thrown)}`, { cause: thrown });
    }
    if (typeof token !== "string") {
      throw new PromError("token_failed", `no token to connect with: the function gave ${typeof token}, not a string`);
    }
    return token;
  }
}
