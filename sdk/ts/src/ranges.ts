/** Ranges of offsets, both ends included, as a flat list: from, to, from, to… */

/** In order, without duplicates; adjacent ones are joined. */
export function merged(ranges: readonly number[]): number[] {
  if (isMerged(ranges)) return ranges as number[];
  const pairs: [number, number][] = [];
  for (let at = 0; at < ranges.length; at += 2) pairs.push([ranges[at] as number, ranges[at + 1] as number]);
  pairs.sort((one, other) => one[0] - other[0]);
  const out: number[] = [];
  for (const [from, to] of pairs) {
    const last = out.length - 1;
    if (last > 0 && from <= (out[last] as number) + 1) out[last] = Math.max(out[last] as number, to);
    else out.push(from, to);
  }
  return out;
}

function isMerged(ranges: readonly number[]): boolean {
  for (let at = 2; at < ranges.length; at += 2) {
    if ((ranges[at] as number) <= (ranges[at - 1] as number) + 1) return false;
  }
  return true;
}

/** In the form of a frame: `[[41,98],[100,120]]`. */
export function rangesText(ranges: readonly number[]): string {
  let text = "[";
  for (let at = 0; at < ranges.length; at += 2) text += `${at === 0 ? "[" : ",["}${ranges[at]},${ranges[at + 1]}]`;
  return text + "]";
}
