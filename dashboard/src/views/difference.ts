/** Which lines of a text went and which came. */

export interface Difference {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** Beyond this the middle is shown as replaced: the comparison takes the product of both. */
const LINES = 600;

export function lineDifference(before: readonly string[], after: readonly string[]): Difference[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const same = (text: string): Difference => ({ kind: "same", text });
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  return [...before.slice(0, start).map(same), ...middle(old, fresh), ...before.slice(before.length - end).map(same)];
}

/** By the longest common sequence. */
function middle(old: readonly string[], fresh: readonly string[]): Difference[] {
  const removed = (text: string): Difference => ({ kind: "removed", text });
  const added = (text: string): Difference => ({ kind: "added", text });
  if (old.length > LINES || fresh.length > LINES) return [...old.map(removed), ...fresh.map(added)];
  const width = fresh.length + 1;
  const longest = new Uint16Array((old.length + 1) * width);
  const at = (one: number, other: number) => longest[one * width + other] ?? 0;
  for (let one = old.length - 1; one >= 0; one--) {
    for (let other = fresh.length - 1; other >= 0; other--) {
      longest[one * width + other] = old[one] === fresh[other] ? at(one + 1, other + 1) + 1 : Math.max(at(one + 1, other), at(one, other + 1));
    }
  }
  const found: Difference[] = [];
  let [one, other] = [0, 0];
  while (one < old.length || other < fresh.length) {
    const [was, is] = [old[one], fresh[other]];
    if (was !== undefined && was === is) {
      found.push({ kind: "same", text: was });
      one++;
      other++;
    } else if (was !== undefined && (is === undefined || at(one + 1, other) >= at(one, other + 1))) {
      found.push(removed(was));
      one++;
    } else if (is !== undefined) {
      found.push(added(is));
      other++;
    }
  }
  return found;
}
