/**
 * Whether two patterns both match some topic name. Time is linear in the product of the segment counts.
 */

import { topicMatches } from "../topic-pattern.js";
import { HUB_WORDS } from "./shape.js";

/** Whether some name is matched by both. */
export function overlaps(one: string, other: string): boolean {
  const left = one.split(".");
  const right = other.split(".");
  const haveCommonTail = commonTails(left, right);
  if (!one.startsWith("*") && !other.startsWith("*")) return haveCommonTail(0, 0);
  // One of them begins with a wildcard, so they share no topic of the hub. What remains are the hub's words as
  // one-segment names, and names that begin with another word.
  const isCommonAlone = (word: string): boolean => topicMatches(one, word) && topicMatches(other, word);
  if (HUB_WORDS.some(isCommonAlone)) return true;
  return beginnings(left).some((first) =>
    beginnings(right).some((second) => {
      const segment = commonSegment(first.segment, second.segment);
      return segment !== undefined && !HUB_WORDS.includes(segment) && haveCommonTail(first.rest, second.rest);
    }),
  );
}

/** Whether the rests of both, from these positions on, have a sequence of segments in common. */
function commonTails(left: readonly string[], right: readonly string[]): (row: number, column: number) => boolean {
  const known = new Map<number, boolean>();
  const ask = (row: number, column: number): boolean => {
    const place = row * (right.length + 1) + column;
    const answer = known.get(place) ?? judge(row, column);
    known.set(place, answer);
    return answer;
  };
  const judge = (row: number, column: number): boolean => {
    const one = left[row];
    const other = right[column];
    if (one === undefined && other === undefined) return true;
    // A `**` matches nothing more, or the opposite segment.
    if (one === "**") return ask(row + 1, column) || (other !== undefined && ask(row, column + 1));
    if (other === "**") return ask(row, column + 1) || (one !== undefined && ask(row + 1, column));
    if (one === undefined || other === undefined) return false;
    return commonSegment(one, other) !== undefined && ask(row + 1, column + 1);
  };
  return ask;
}

/** What a name can begin with, and where the pattern continues after it. */
function beginnings(segments: readonly string[]): { segment: string; rest: number }[] {
  const found = [];
  for (const [position, segment] of segments.entries()) {
    if (segment !== "**") {
      found.push({ segment, rest: position + 1 });
      break;
    }
    found.push({ segment: "*", rest: position });
  }
  return found;
}

/** The segment that both allow; `*` if it can be any. */
function commonSegment(left: string, right: string): string | undefined {
  if (left === "*") return right;
  return right === "*" || left === right ? left : undefined;
}
