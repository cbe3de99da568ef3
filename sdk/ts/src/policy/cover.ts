/**
 * Whether one pattern matches every topic name that another can match.
 *
 * The outer pattern's words must occur among the inner one's words, in order, and the outer pattern must allow each gap
 * between two of them, however many segments the inner wildcards match. Time is linear in the product of the segment
 * counts.
 */

import { topicMatches } from "../topic-pattern.js";
import { type Gap, HUB_WORDS, type Shape, firstGap, isOneWord, shapeOf, startsWild, withFirstGap } from "./shape.js";

/** Whether `outer` matches every name that `inner` matches. */
export function covers(outer: string, inner: string): boolean {
  const outerShape = shapeOf(outer);
  const innerShape = shapeOf(inner);
  const gap = firstGap(innerShape);
  const word = innerShape.words[0];
  // `**` alone, or a wildcard that certainly matches a segment: no name is empty.
  if (word === undefined || gap.atLeast > 0) {
    return canBePlaced(outerShape, withFirstGap(innerShape, Math.max(gap.atLeast, 1)));
  }
  if (!HUB_WORDS.includes(word)) return canBePlaced(outerShape, innerShape);
  if (gap.isOpen) {
    // `**.dlq…`: with nothing before the word it would be a topic of the hub, which a wildcard does not match. The word
    // alone is an ordinary name.
    const isLostAlone = topicMatches(inner, word) && !topicMatches(outer, word);
    return !isLostAlone && canBePlaced(outerShape, withFirstGap(innerShape, 1));
  }
  // `dlq.…`: the hub's topics, which no wildcard reaches.
  const isOutOfReach = startsWild(outerShape) && !isOneWord(innerShape);
  return !isOutOfReach && canBePlaced(outerShape, innerShape);
}

/**
 * Walks the outer words from left to right and keeps all inner words that each may match. The beginning and the end of the
 * name count as words, at the first and the last place.
 */
function canBePlaced(outer: Shape, inner: Shape): boolean {
  const places = placesOf(inner);
  const end = inner.words.length + 1;
  let reachable = new Set([0]);
  outer.gaps.forEach((gap, index) => {
    const word = outer.words[index];
    const next = new Set<number>();
    for (let place = 1; place <= end; place += 1) {
      const fits = word === undefined ? place === end : place !== end && inner.words[place - 1] === word;
      if (fits && reaches(places, reachable, place, gap)) next.add(place);
    }
    reachable = next;
  });
  return reachable.has(end);
}

/** The place of a word, or of the beginning or end of the name. */
interface Place {
  /** Its position in the shortest name, strictly increasing. */
  readonly position: number;
  /** How many open gaps come before it. */
  readonly openGaps: number;
}

function placesOf(shape: Shape): readonly Place[] {
  let last: Place = { position: 0, openGaps: 0 };
  const after = (gap: Gap): Place => {
    last = { position: last.position + gap.atLeast + 1, openGaps: last.openGaps + (gap.isOpen ? 1 : 0) };
    return last;
  };
  return [last, ...shape.gaps.map(after)];
}

/** Whether some reachable place is before `place` at a distance that the gap always allows. */
function reaches(places: readonly Place[], reachable: ReadonlySet<number>, place: number, gap: Gap): boolean {
  const here = places[place];
  if (here === undefined) return false;
  const latest = here.position - gap.atLeast - 1;
  for (const from of reachable) {
    const there = places[from];
    if (there === undefined || from >= place) continue;
    if (gap.isOpen && there.position <= latest) return true;
    if (!gap.isOpen && there.position === latest && there.openGaps === here.openGaps) return true;
  }
  return false;
}
