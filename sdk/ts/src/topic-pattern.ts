/**
 * Topic patterns: `*` matches exactly one segment, `**` zero or more, anywhere.
 *
 * Promises the hub's answers; `protocol/vectors/topic_patterns.json` checks both.
 */

import { LONGEST_PATTERN_BYTES, isNameSegment, isReservedTopic } from "./topic-name.js";

/** Whether this is a topic's name or a pattern over such names. */
export function isTopicPattern(pattern: string): boolean {
  return topicPatternFault(pattern) === undefined;
}

/** What is wrong with a pattern, if anything. */
export function topicPatternFault(pattern: string): string | undefined {
  if (pattern.length > LONGEST_PATTERN_BYTES) {
    return `it is ${pattern.length} bytes long, the limit is ${LONGEST_PATTERN_BYTES}`;
  }
  const isValid = (segment: string): boolean => segment === "*" || segment === "**" || isNameSegment(segment);
  if (pattern.split(".").every(isValid)) return undefined;
  return "it has an empty segment or one with other characters than a-z and 0-9; * and ** stand alone in theirs";
}

/** Whether the pattern has a wildcard; without one it names a single topic. */
export function hasWildcard(pattern: string): boolean {
  return pattern.includes("*");
}

/**
 * Whether the pattern matches the topic. One that begins with a wildcard does not match `dlq.` and `system.` topics. For an
 * invalid pattern or topic the answer means nothing: check foreign names first.
 */
export function topicMatches(pattern: string, topic: string): boolean {
  if (pattern.startsWith("*") && isReservedTopic(topic)) return false;
  return segmentsMatch(pattern.split("."), topic.split("."));
}

/**
 * Walks both. On a mismatch the latest `**` matches one segment more; an earlier one never needs to, because the later one
 * can match whatever it could.
 */
function segmentsMatch(pattern: readonly string[], topic: readonly string[]): boolean {
  let patternAt = 0;
  let topicAt = 0;
  let retryPatternAt = -1;
  let retryTopicAt = 0;
  while (topicAt < topic.length) {
    const segment = pattern[patternAt];
    if (segment === "**") {
      patternAt += 1;
      retryPatternAt = patternAt;
      retryTopicAt = topicAt;
    } else if (segment === "*" || segment === topic[topicAt]) {
      patternAt += 1;
      topicAt += 1;
    } else if (retryPatternAt >= 0) {
      patternAt = retryPatternAt;
      retryTopicAt += 1;
      topicAt = retryTopicAt;
    } else {
      return false;
    }
  }
  return pattern.slice(patternAt).every((segment) => segment === "**");
}
