// Publishes and consumes with this client and with that of NATS, each against its own server, in interleaved rounds,
// and prints the medians side by side. `npm run bench -- --quick`; --rounds N --events N --window N --payload BYTES
// --dir FOLDER --json --check
import { spawnSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { defaultFolder, startNats, startProm } from "./servers.mjs";
import { printTable } from "./table.mjs";

/** How many times as fast as NATS both verbs must be. */
const GOAL = 1.5;
const here = fileURLToPath(new URL(".", import.meta.url));

const { values: flags } = parseArgs({
  options: {
    rounds: { type: "string" },
    events: { type: "string" },
    "warm-up": { type: "string" },
    window: { type: "string" },
    payload: { type: "string", default: "256" },
    dir: { type: "string", default: defaultFolder },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
  },
});
const rounds = Number(flags.rounds ?? (flags.quick ? 2 : 5));
const events = Number(flags.events ?? (flags.quick ? 100_000 : 300_000));
const warmUp = Number(flags["warm-up"] ?? (flags.quick ? 20_000 : 50_000));

if (!existsSync(`${here}node_modules`)) {
  const { status } = spawnSync("npm", ["ci"], { cwd: here, stdio: "inherit" });
  if (status !== 0) throw new Error("npm ci in bench failed");
}

const say = (text) => process.stderr.write(text);
const windows = await windowsOf(["promethean", "nats"]);
say(`${events} events of ${flags.payload} bytes, ${rounds} rounds; hub with fsync, JetStream in its default\n`);
say(`under way at once, each with what suits it best: ${JSON.stringify(windows)}\n`);
const servers = { promethean: await startProm(flags.dir), nats: await startNats(flags.dir) };
const figures = { publish: { promethean: [], nats: [] }, consume: { promethean: [], nats: [] } };
try {
  for (let round = 0; round < rounds; round++) {
    // The order alternates, so that neither always finds the machine warm.
    const contenders = round % 2 === 0 ? ["promethean", "nats"] : ["nats", "promethean"];
    for (const verb of ["publish", "consume"]) {
      for (const contender of contenders) {
        const perSecond = await measure(contender, verb, `bench.round${round}`);
        figures[verb][contender].push(perSecond);
        say(`round ${round + 1}: ${contender} ${verb} ${(perSecond / 1000).toFixed(1)} k/s\n`);
      }
    }
  }
} finally {
  await Promise.all(Object.values(servers).map(({ stop }) => stop()));
}
if (flags.json) console.log(JSON.stringify({ events, rounds, windows, figures }));
const isReached = flags.json || printTable(figures, GOAL);
if (flags.check && !isReached) process.exitCode = 1;

function measure(contender, verb, topic) {
  const window = windows[contender][verb];
  const task = {
    contender,
    verb,
    url: servers[contender].url,
    topic,
    warmUp,
    events,
    window,
    payloadBytes: Number(flags.payload),
  };
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [`${here}client-process.mjs`, JSON.stringify(task)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.on("data", (text) => (said += text));
    child.on("error", reject);
    child.on("exit", (code) =>
      code === 0 ? resolve(JSON.parse(said).perSecond) : reject(new Error(`${contender} ${verb} failed`)),
    );
  });
}

async function windowsOf(names) {
  const loaded = await Promise.all(names.map((name) => import(`./contender-${name}.mjs`)));
  const same = flags.window && { publish: Number(flags.window), consume: Number(flags.window) };
  return Object.fromEntries(loaded.map(({ name, windows }) => [name, same || windows]));
}
