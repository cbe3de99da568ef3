/** The address of a hub: `http://host:port`, or `https`, `ws`, `wss`; the path is `/ws` by default. */

import { invalid } from "./error.js";

const SCHEMES: Readonly<Record<string, string>> = { "http:": "ws:", "ws:": "ws:", "https:": "wss:", "wss:": "wss:" };

/** Returns the address in the form that a WebSocket takes. */
export function hubUrl(address: string | URL): string {
  const shown = JSON.stringify(String(address).slice(0, 200));
  const refuse = (reason: string) =>
    invalid(`${shown} is not the address of a hub: ${reason}; write it like http://127.0.0.1:8090`);
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw refuse("it is not a URL");
  }
  const scheme = SCHEMES[url.protocol];
  if (scheme === undefined) throw refuse("the scheme is none of http, https, ws, wss");
  if (url.hostname === "") throw refuse("it names no host");
  if (url.username !== "" || url.password !== "") throw refuse("it carries a user; give the token instead");
  const path = url.pathname === "" || url.pathname === "/" ? "/ws" : url.pathname;
  return `${scheme}//${url.host}${path}${url.search}`;
}
