/**
 * The same test in Node and in a browser: what a scenario is and what it finds around itself.
 *
 * A scenario imports nothing at run time but `expectations.js`: the client comes to it as `env.sdk`, because Node and
 * browsers load different files of it. The files of scenarios are listed in `all.ts`.
 */

import type * as Sdk from "../../src/index.js";

export interface Scenario {
  /** A sentence that promises something. */
  readonly name: string;
  run(env: ScenarioEnv): Promise<void>;
}

/** The hub, steered from outside of the scenario. */
export interface HubControl {
  /** As a crash would. */
  kill(): Promise<void>;
  /** As a deployment would. */
  stop(): Promise<void>;
  /** At the same address, with what it had stored. */
  restart(): Promise<void>;
  /** What the hub answers over HTTP to a path; a page is not allowed to ask for itself. */
  getJson(path: string): Promise<unknown>;
  /** The same, with a body that is sent there. */
  postJson(path: string, body: unknown): Promise<unknown>;
}

export interface ScenarioEnv {
  /** What `@promethean/client` exports here. */
  readonly sdk: typeof Sdk;
  /** Of the hub, for `PromClient`. */
  readonly url: string;
  readonly hub: HubControl;
  /** A connected client; it is closed after the scenario. */
  connect(options?: Sdk.ClientOptions): Promise<Sdk.PromClient>;
  /** A topic that no other scenario uses, ending in this word. */
  topic(word: string): string;
}

/** What differs between the places where scenarios run. */
export interface Surroundings {
  readonly sdk: typeof Sdk;
  readonly url: string;
  readonly hub: HubControl;
  /** Letters and digits that no other run uses. */
  readonly run: string;
}

/** Runs one scenario and closes what it opened. */
export async function runScenario(scenario: Scenario, { sdk, url, hub, run }: Surroundings): Promise<void> {
  const clients: Sdk.PromClient[] = [];
  const env: ScenarioEnv = {
    sdk,
    url,
    hub,
    async connect(options) {
      const client = new sdk.PromClient(url, undefined, options);
      clients.push(client);
      await client.connect();
      return client;
    },
    topic: (word) => `t${run}.${word}`,
  };
  try {
    await scenario.run(env);
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}
