/** Every scenario, by the file it is in. A new file is listed here, and runs in Node and in the browser. */

import { scenarios as close } from "./close.js";
import { scenarios as iterate } from "./iterate.js";
import { scenarios as judgements } from "./judgements.js";
import { scenarios as partitioned } from "./partitioned.js";
import { scenarios as publish } from "./publish.js";
import { scenarios as reconnect } from "./reconnect.js";
import { scenarios as schema } from "./schema.js";
import type { Scenario } from "./scenario.js";
import { scenarios as settle } from "./settle.js";
import { scenarios as subscribe } from "./subscribe.js";

export const suites: Readonly<Record<string, readonly Scenario[]>> = {
  judgements,
  publish,
  subscribe,
  partitioned,
  schema,
  settle,
  iterate,
  reconnect,
  close,
};
