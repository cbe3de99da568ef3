/** Every view has an address: `#/topics/orders.placed?tab=groups`. */

import { computed, signal } from "@preact/signals";

export interface Route {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

function read(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter((part) => part !== "");
  return { path: parts.map(decode), query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = signal<Route>(read());

/** The first part of the path: which view. */
export const view = computed(() => route.value.path[0] ?? "overview");

export function follow(): void {
  addEventListener("hashchange", () => {
    const before = route.value.path.join("/");
    route.value = read();
    if (route.value.path.join("/") !== before) {
      scrollTo(0, 0);
      document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
    }
  });
}

type Query = Readonly<Record<string, string | number | undefined>>;

/** What a link to the view has as its `href`. */
export function href(path: readonly string[], query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") search.set(name, String(value));
  const tail = search.size > 0 ? `?${search}` : "";
  return `#/${path.map(encodeURIComponent).join("/")}${tail}`;
}

export function go(path: readonly string[], query: Query = {}): void {
  location.hash = href(path, query);
}

/** Changes the query of the present view by a step of the browser's history: its back button undoes it. */
export function stepTo(change: Query): void {
  const { path, query } = route.value;
  go(path, { ...Object.fromEntries(query), ...change });
}

/** Changes the query of the present view, without a step in the browser's history. */
export function setQuery(change: Query): void {
  const { path, query } = route.value;
  const all = { ...Object.fromEntries(query), ...change };
  history.replaceState(null, "", href(path, all));
  route.value = read();
}
