/**
 * A pattern as words, and the gaps before, between and after them. `a.*.**.*.b` and `a.**.*.*.b` have the same shape: the
 * words `a` and `b` with at least two segments between them.
 */

/** First segments of the hub's own topics: `dlq.` and `system.`. Only patterns that name them match those topics. */
export const HUB_WORDS: readonly string[] = ["dlq", "system"];

/** How many segments the wildcards in one gap match. */
export interface Gap {
  readonly atLeast: number;
  /** Also any larger number; otherwise exactly `atLeast`. */
  readonly isOpen: boolean;
}

/** One gap more than words: `gaps[i]` comes before `words[i]`, the last gap after the last word. */
export interface Shape {
  readonly words: readonly string[];
  readonly gaps: readonly Gap[];
}

const NO_GAP: Gap = { atLeast: 0, isOpen: false };

export function shapeOf(pattern: string): Shape {
  const words: string[] = [];
  const gaps: Gap[] = [];
  let gap = NO_GAP;
  for (const segment of pattern.split(".")) {
    if (segment === "*") {
      gap = { ...gap, atLeast: gap.atLeast + 1 };
    } else if (segment === "**") {
      gap = { ...gap, isOpen: true };
    } else {
      words.push(segment);
      gaps.push(gap);
      gap = NO_GAP;
    }
  }
  gaps.push(gap);
  return { words, gaps };
}

/** The gap before the first word. */
export function firstGap(shape: Shape): Gap {
  return shape.gaps[0] ?? NO_GAP;
}

export function withFirstGap(shape: Shape, atLeast: number): Shape {
  return { words: shape.words, gaps: [{ ...firstGap(shape), atLeast }, ...shape.gaps.slice(1)] };
}

/** Whether it begins with a wildcard, and so does not match the hub's topics. */
export function startsWild(shape: Shape): boolean {
  return !isNoGap(firstGap(shape));
}

/** Whether it can only match a name of one segment. */
export function isOneWord(shape: Shape): boolean {
  return shape.words.length === 1 && shape.gaps.every(isNoGap);
}

function isNoGap(gap: Gap): boolean {
  return gap.atLeast === 0 && !gap.isOpen;
}
