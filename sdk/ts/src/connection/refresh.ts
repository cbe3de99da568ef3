/** Fresh tokens over a live connection: AUTH again before the last one expires. */

import { nowMs } from "../clock.js";
import { reasonOf } from "../error.js";
import { TOKEN_REFRESH_SHARE, TOKEN_RETRY_MS } from "../limits.js";
import { authText } from "./dial.js";
import type { Session } from "./session.js";

export class Refresh {
  dueAt = Infinity;
  #isFetching = false;

  constructor(private readonly session: Session) {}

  schedule(expiresAtMs: number | undefined): void {
    this.dueAt = Infinity;
    if (expiresAtMs === undefined || !this.session.connection.token.canRefresh) return;
    const leftMs = Math.max(0, expiresAtMs - Date.now());
    this.#dueIn(Math.max(leftMs * TOKEN_REFRESH_SHARE, TOKEN_RETRY_MS));
  }

  /** The hub says that the token has expired. */
  hurry(): void {
    if (this.session.connection.token.canRefresh && !this.#isFetching) this.#dueIn(0);
  }

  #dueIn(ms: number): void {
    this.dueAt = nowMs() + ms;
    this.session.connection.wakeBy(this.dueAt);
  }

  beginIfDue(now: number): void {
    if (this.dueAt > now || this.#isFetching) return;
    this.dueAt = Infinity;
    this.#isFetching = true;
    const { session } = this;
    session.connection.token.fetch().then(
      (token) => {
        this.#isFetching = false;
        if (session.isOver) return;
        const corr = session.answers.expect({ for: "auth" });
        session.send(authText(corr, token, session.connection.settings.whenRateLimited));
        session.flush();
      },
      (error: unknown) => {
        this.#isFetching = false;
        if (!session.isOver) this.failed(error);
      },
    );
  }

  failed(error: unknown): void {
    this.session.connection.teller.tell({ type: "token_failed", reason: reasonOf(error) });
    this.#dueIn(TOKEN_RETRY_MS);
  }
}
