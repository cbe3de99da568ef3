/**
 * A pattern by what it demands: words, and the gaps before, between and after them. `a.*.**.*.b` and `a.**.*.*.b` are one
 * shape: the words `a` and `b` with at least two segments between them.
 */

/** First segments of the topics that a pattern must name to match: `dlq.` and `system.` with anything after it. */
export const HUB_WORDS: readonly string[] = ["dlq", "system"];

/** How many segments stand where the wildcards are. */
export interface Gap {
  readonly atLeast: number;
  /** Any number above `atLeast` as well; otherwise exactly as many. */
  readonly isOpen: boolean;
}

/** One gap more than words: `gaps[i]` stands before `words[i]`, the last one after the last word. */
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

/** Begins with a wildcard, and so does not match the hub's topics. */
export function startsWild(shape: Shape): boolean {
  return !isNoGap(firstGap(shape));
}

/** Can match a name of one segment only. */
export function isOneWord(shape: Shape): boolean {
  return shape.words.length === 1 && shape.gaps.every(isNoGap);
}

function isNoGap(gap: Gap): boolean {
  return gap.atLeast === 0 && !gap.isOpen;
}
