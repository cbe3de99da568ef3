// Builds the page into dist/, which is committed and embedded in the hub. With --verify it writes nothing and fails if what is
// committed is not what the sources make, byte by byte. The same sources and lock file give the same bytes.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { constants, gunzipSync, gzipSync } from "node:zlib";
import { build } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = `${root}dist/`;
/** What a browser fetches for the first view, compressed. */
const MOST_BYTES = 120 * 1024;

/** The files of this folder that decide what is built, in the order of their paths. */
function sources() {
  const below = readdirSync(`${root}src`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath.replaceAll("\\", "/")}/${entry.name}`.slice(root.length));
  const beside = ["package.json", "package-lock.json", "tsconfig.json", "scripts/build.mjs"];
  return [...below, ...beside].sort();
}

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Over `<sha256 of the file>  <path>` lines, as sha256sum prints them. */
function digestOfSources() {
  const lines = sources().map((path) => `${sha256(readFileSync(`${root}${path}`))}  ${path}\n`);
  return sha256(lines.join(""));
}

async function bundle() {
  const { output } = await build({
    root,
    configFile: false,
    logLevel: "warn",
    mode: "production",
    resolve: { alias: { "@promethean/client": `${root}../sdk/ts/src/browser.ts` } },
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      write: false,
      target: "es2022",
      modulePreload: { polyfill: false },
      cssCodeSplit: false,
      assetsInlineLimit: 0,
      rollupOptions: {
        input: `${root}src/main.tsx`,
        output: { entryFileNames: "app.js", assetFileNames: "app[extname]", codeSplitting: false },
      },
    },
  });
  const files = new Map(output.map((file) => [file.fileName, Buffer.from(file.code ?? file.source)]));
  for (const name of ["index.html", "icon.svg"]) files.set(name, readFileSync(`${root}src/${name}`));
  const expected = ["app.css", "app.js", "icon.svg", "index.html"];
  if ([...files.keys()].sort().join() !== expected.join()) throw new Error(`built ${[...files.keys()].join()}`);
  return files;
}

const files = await bundle();
const manifest = { sources_sha256: digestOfSources(), files: {} };
let compressed = 0;
for (const [name, bytes] of [...files].sort(([one], [other]) => (one < other ? -1 : 1))) {
  manifest.files[name] = { bytes: bytes.length, sha256: sha256(bytes) };
  compressed += gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }).length;
}
if (compressed > MOST_BYTES) throw new Error(`${compressed} bytes compressed; at most ${MOST_BYTES} are allowed`);
const manifestText = `${JSON.stringify(manifest, null, 2)}\n`;

if (process.argv.includes("--verify")) {
  const stale = [];
  const committed = (name) => (existsSync(dist + name) ? readFileSync(dist + name) : Buffer.alloc(0));
  for (const [name, bytes] of files) {
    if (!committed(name).equals(bytes)) stale.push(name);
    // Compressors differ from one version of Node to the next; what comes out of them does not.
    else if (!gunzipSync(committed(`${name}.gz`)).equals(bytes)) stale.push(`${name}.gz`);
  }
  if (committed("manifest.json").toString() !== manifestText) stale.push("manifest.json");
  if (stale.length > 0) {
    console.error(`dashboard/dist is not what its sources make: ${stale.join(", ")}; run npm run build in dashboard/`);
    process.exit(1);
  }
  console.log(`dashboard/dist is what its sources make; ${compressed} bytes compressed`);
} else {
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);
  for (const [name, bytes] of files) {
    writeFileSync(dist + name, bytes);
    writeFileSync(`${dist}${name}.gz`, gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }));
  }
  writeFileSync(`${dist}manifest.json`, manifestText);
  console.log(`wrote dashboard/dist: ${compressed} bytes compressed`);
}
