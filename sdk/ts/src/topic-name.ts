/**
 * Names of topics and groups: what the hub accepts, checked before anything is sent.
 *
 * Promises the hub's answers; `protocol/vectors/topic_names.json` checks both. A fault is a reason that can be shown to the
 * user.
 */

const TOPIC_BYTES = 255;
/** The longest prefix that the hub puts before a topic: its dead letters are a topic too. */
const HUB_PREFIX_BYTES = 4;
const DEAD_LETTERS = "dlq.";
const SYSTEM = "system.";

export const LONGEST_PATTERN_BYTES = TOPIC_BYTES + HUB_PREFIX_BYTES;

const SEGMENT = /^[a-z0-9]+$/;
const GROUP = /^[A-Za-z0-9._:-]{1,128}$/;

/** Whether this is a topic's name: segments of `a-z` and `0-9`, joined by dots. */
export function isTopicName(name: string): boolean {
  return topicNameFault(name) === undefined;
}

/** What is wrong with a topic's name, if anything. */
export function topicNameFault(name: string): string | undefined {
  const longest = name.startsWith(DEAD_LETTERS) ? TOPIC_BYTES + HUB_PREFIX_BYTES : TOPIC_BYTES;
  if (name === "") return "it is empty";
  // A name with a letter of more than one byte is refused for its letters, so counting characters is enough.
  if (name.length > longest) return `it is ${name.length} bytes long, the limit is ${longest}`;
  const segments = name.split(".");
  if (segments.includes("")) return "it has an empty segment";
  return segments.every(isNameSegment) ? undefined : "it has a character outside a-z, 0-9 and the dot";
}

/** True for `dlq.` and `system.` topics: the hub writes them, clients only read. */
export function isReservedTopic(name: string): boolean {
  return name.startsWith(DEAD_LETTERS) || name.startsWith(SYSTEM);
}

/** Whether this is a group's name: 1 to 128 of `A-Z a-z 0-9 . _ : -`. */
export function isGroupName(name: string): boolean {
  return GROUP.test(name);
}

export function isNameSegment(segment: string): boolean {
  return SEGMENT.test(segment);
}
