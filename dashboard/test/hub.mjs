// The real hub for a test: the binary that PROM_BINARY names, or the last build, over an empty folder that goes with it.
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SECRET = "only the tests of the dashboard know this, and it is long enough";
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

function binary() {
  const named = process.env.PROM_BINARY ?? "";
  const built = ["debug", "release"].map((profile) => join(ROOT, "target", profile, "prom"));
  const found = [named, ...built].find((path) => path !== "" && existsSync(path));
  if (found === undefined) throw new Error("there is no prom binary: run `cargo build -p prom-cli`, or set PROM_BINARY");
  return found;
}

const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** As `prom token` makes them. */
export function token(subject, scopes) {
  const now = Math.floor(Date.now() / 1000);
  const head = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: subject, scopes, iat: now, exp: now + 3600 })}`;
  return `${head}.${createHmac("sha256", SECRET).update(head).digest("base64url")}`;
}

/** `protection` is "open" or "by token"; `config` is its prom.toml. */
export async function startHub(protection, more = [], config = "") {
  const folder = mkdtempSync(join(tmpdir(), "prom-dashboard-"));
  writeFileSync(join(folder, "prom.toml"), config);
  const environment = { ...process.env, PROM_LOG: "warn" };
  for (const name of ["JWT_SECRET", "WS_PORT", "OPS_PORT", "MONGO_URL", "JWT_AUD", "JWT_ISS", "JWT_JWKS_URL"]) delete environment[name];
  if (protection === "by token") environment.JWT_SECRET = SECRET;
  const args = ["serve", "--listen", "127.0.0.1:0", "--data", join(folder, "data"), ...more];
  const child = spawn(binary(), args, { env: environment, cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const address = await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`the hub was not ready in time\n${said}`)), 30_000);
    const hear = (text) => {
      said += text;
      const found = /ws:\/\/([0-9.]+:[0-9]+)\/ws/.exec(said)?.[1];
      if (found !== undefined) {
        clearTimeout(late);
        resolve(found);
      }
    };
    child.stdout.setEncoding("utf8").on("data", hear);
    child.stderr.setEncoding("utf8").on("data", hear);
    child.once("exit", (code) => reject(new Error(`the hub ended with ${code}\n${said}`)));
  });
  const url = `http://${address}`;
  const admin = protection === "by token" ? token("admin", ["*", "*:system.**", "*:dlq.**"]) : undefined;
  const headers = { "content-type": "application/json", ...(admin === undefined ? {} : { authorization: `Bearer ${admin}` }) };
  const ask = async (method, path, body) => {
    const init = { method, headers };
    if (body !== undefined) init.body = typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(`${url}${path}`, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  return {
    url,
    admin,
    ask,
    pid: child.pid,
    get: (path) => ask("GET", path),
    post: (path, body) => ask("POST", path, body),
    put: (path, body) => ask("PUT", path, body),
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await ended;
      clearTimeout(late);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until it holds. */
export async function until(what, holds, forMs = 15_000) {
  const deadline = Date.now() + forMs;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`not within ${forMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
