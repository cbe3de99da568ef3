/** Serves files of a folder on a free port of this machine, for pages of tests. Nothing outside the folder is served. */

import { readFile } from "node:fs/promises";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".css": "text/css",
};

export interface FileServer {
  /** `http://127.0.0.1:…`, without a slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

/** `pages` are served in addition to the files, by their path. */
export async function serveFiles(folder: string, pages: Readonly<Record<string, string>> = {}): Promise<FileServer> {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const name = path.endsWith("/") ? `${path}index.html` : path;
    try {
      // Normalised as an absolute path, so that no `..` is left to climb with.
      const content = pages[path] ?? (await readFile(join(folder, normalize(decodeURIComponent(name)))));
      const type = pages[path] === undefined ? TYPES[extname(name)] : TYPES[".html"];
      response.writeHead(200, { "content-type": type ?? "application/octet-stream" }).end(content);
    } catch {
      response.writeHead(404, { "content-type": "text/plain" }).end(`there is no ${name}\n`);
    }
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => closed(server) };
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
