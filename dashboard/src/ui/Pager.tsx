/** Walks through pages that the hub makes. */

import * as format from "../format.ts";
import { route, stepTo } from "../route.ts";

/** `next` of the answer; the pages before are in the address. */
export function Pager({ next, shown, total, what }: { next: string | null | undefined; shown: number; total: number | undefined; what: string }) {
  const before = route.value.query.getAll("p")[0]?.split("~") ?? [];
  const to = (pages: readonly string[]) => stepTo({ p: pages.join("~"), next: pages.at(-1) });
  if (before.length === 0 && (next === undefined || next === null)) {
    return <p class="pager">{total === undefined ? "" : format.many(total, what)}</p>;
  }
  return (
    <div class="pager">
      <button type="button" disabled={before.length === 0} onClick={() => to(before.slice(0, -1))}>
        Back
      </button>
      <span>
        {format.exact(shown)}
        {total !== undefined && ` of ${format.many(total, what)}`}
      </span>
      <button type="button" disabled={next === undefined || next === null} onClick={() => next && to([...before, next])}>
        Next
      </button>
    </div>
  );
}
