/**
 * What runs in the page: the client as it is built for browsers, and the scenarios. The test outside calls
 * `window.runScenario`, and the page calls `window.steerHub` back, because a page can kill no process.
 */

import { suites } from "../scenarios/all.js";
import { type HubControl, runScenario } from "../scenarios/scenario.js";

declare global {
  interface Window {
    /** Put there by the test. */
    steerHub(action: keyof HubControl, path?: string, body?: unknown): Promise<unknown>;
    /** Resolves with nothing, or with what went wrong. */
    runScenario(suite: string, name: string, url: string, run: string): Promise<string | undefined>;
  }
}

const clientModule = "/dist/browser.js";

const hub: HubControl = {
  kill: async () => void (await window.steerHub("kill")),
  stop: async () => void (await window.steerHub("stop")),
  restart: async () => void (await window.steerHub("restart")),
  getJson: (path) => window.steerHub("getJson", path),
  postJson: (path, body) => window.steerHub("postJson", path, body),
};

window.runScenario = async (suite, name, url, run) => {
  const scenario = suites[suite]?.find((candidate) => candidate.name === name);
  if (scenario === undefined) return `there is no scenario called ${name}`;
  try {
    const sdk = (await import(clientModule)) as Parameters<typeof runScenario>[1]["sdk"];
    await runScenario(scenario, { sdk, url, hub, run });
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
};
