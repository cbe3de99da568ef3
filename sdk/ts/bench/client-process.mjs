// One measurement in a separate process: reads what to do from its arguments, prints events per second.
// node client-process.mjs '{"contender":"nats","verb":"publish","url":…,"topic":…,"warmUp":…,"events":…,"window":…}'
import { pump } from "./pump.mjs";

const { contender, verb, url, topic, warmUp, events, window, payloadBytes } = JSON.parse(process.argv[2]);
const { prepare, publisher, consumer } = await import(`./contender-${contender}.mjs`);

async function publish() {
  await prepare(url, topic);
  const payload = { pid: 4711, host: "bench", cpu_pct: 12.5, text: "x".repeat(Math.max(0, payloadBytes - 52)) };
  const { publish, close } = await publisher(url, topic, payload);
  await pump(warmUp, window, publish);
  const began = performance.now();
  await pump(events, window, publish);
  const tookMs = performance.now() - began;
  await close();
  return tookMs;
}

async function consume() {
  let handled = 0;
  let began = 0;
  let pids = 0;
  let finish;
  const all = new Promise((resolve) => (finish = resolve));
  const handle = (payload) => {
    // The least that a handler does: look at the payload.
    if (payload.pid === 4711) pids++;
    handled++;
    if (handled === warmUp) began = performance.now();
    if (handled === warmUp + events) finish();
  };
  const { settled } = await consumer(url, topic, handle, window);
  await all;
  await settled();
  if (pids < warmUp + events) throw new Error("some payloads were not what was published");
  return performance.now() - began;
}

const tookMs = await (verb === "publish" ? publish() : consume());
console.log(JSON.stringify({ perSecond: (events / tookMs) * 1000, cpuMs: process.cpuUsage().user / 1000 }));
