// A client in plain frames, with nothing but the `ws` package: publishes, nacks once, acks, and comes back after the hub
// was killed. Run it as `npm install ws && node plain.mjs`, kill the hub when it says so, and start it again.
import WebSocket from "ws";

const url = process.argv[2] ?? "ws://127.0.0.1:8090/ws";
const topic = "numbers.drawn", group = "plain";
const settled = new Set();

function connect(numbers, done) {
  const socket = new WebSocket(url);
  const send = (frame) => socket.send(JSON.stringify(frame));
  socket.on("open", () => {
    send({ op: "AUTH" });
    send({ op: "SUBSCRIBE", topic, group, opts: { from: "earliest", backoff: { firstMs: 50, maxMs: 500 } } });
    for (const n of numbers) send({ op: "PUBLISH", topic, payload: { n }, corr: `publish-${n}` });
  });
  socket.on("message", (text) => {
    const frame = JSON.parse(text);
    if (frame.op === "ERR") throw new Error(`${frame.code}: ${frame.msg}`);
    if (frame.op === "OK" && String(frame.corr).startsWith("ack-")) {
      settled.add(Number(frame.corr.slice(4)));
      if (numbers.every((n) => settled.has(n))) done(socket);
    }
    if (frame.op !== "EVENT") return;
    const { id, payload } = frame.event;
    console.log(`event ${payload.n}, attempt ${frame.ctx.attempt}`);
    if (settled.has(payload.n)) throw new Error(`event ${payload.n} came again after it was acked`);
    if (payload.n === 2 && frame.ctx.attempt === 1) send({ op: "NACK", topic, group, id, reason: "not today" });
    else send({ op: "ACK", topic, group, id, corr: `ack-${payload.n}` });
  });
  socket.on("error", () => {});
  socket.on("close", () => setTimeout(() => connect(settled.has(3) ? [4, 5, 6] : numbers, done), 100));
}

connect([1, 2, 3], function done(socket) {
  if (!settled.has(6)) return console.log("half done: kill the hub now and start it again");
  console.log("resumed where it was");
  socket.removeAllListeners("close");
  socket.close();
});
