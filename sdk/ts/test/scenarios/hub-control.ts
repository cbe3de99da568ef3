/** Steers the hub of a harness for scenarios. */

import type { Harness } from "../../src/harness.js";
import type { HubControl } from "./scenario.js";

export function hubControl(harness: Harness): HubControl {
  return {
    kill: () => harness.kill(),
    stop: () => harness.stop(),
    restart: () => harness.restart(),
    async getJson(path) {
      const answer = await fetch(`${harness.httpUrl}${path}`);
      return answer.json();
    },
    async postJson(path, body) {
      const answer = await fetch(`${harness.httpUrl}${path}`, { method: "POST", body: JSON.stringify(body) });
      return answer.json();
    },
  };
}
