/**
 * Typed topics: a map from topic to payload makes publishing and handlers typed.
 *
 *     interface Topics { "orders.placed": { id: number }; "orders.paid": { id: number; cents: number } }
 *     const client = new PromClient<Topics>(url);
 *
 * Promises: with a map an unknown topic is a type error, and a pattern yields the union of what it matches. Without a map
 * every topic takes and yields `any`.
 */

/** Without a map nothing is known about payloads. */
export type AnyTopics = Record<string, any>;

/** The topics of a map. */
export type TopicOf<Topics extends object> = Extract<keyof Topics, string>;

/** What can be subscribed to: a topic of the map, or a pattern. */
export type TopicOrPattern<Topics extends object> = TopicOf<Topics> | `${string}*${string}`;

/** The topics of the map that a name or a pattern matches. */
export type MatchedTopic<Topics extends object, Pattern extends string> = string extends keyof Topics
  ? string
  : Pattern extends TopicOf<Topics>
    ? Pattern
    : {
        [Topic in TopicOf<Topics>]: Matches<Split<Pattern>, Split<Topic>> extends true ? Topic : never;
      }[TopicOf<Topics>];

type Split<Text extends string> = Text extends `${infer Head}.${infer Rest}` ? [Head, ...Split<Rest>] : [Text];

type Matches<Pattern extends readonly string[], Topic extends readonly string[]> = Pattern extends [
  "**",
  ...infer PatternRest extends string[],
]
  ? Matches<PatternRest, Topic> extends true
    ? true
    : Topic extends [string, ...infer TopicRest extends string[]]
      ? Matches<Pattern, TopicRest>
      : false
  : Pattern extends [infer Segment, ...infer PatternRest extends string[]]
    ? Topic extends [Segment extends "*" ? string : Segment, ...infer TopicRest extends string[]]
      ? Matches<PatternRest, TopicRest>
      : false
    : Topic extends []
      ? true
      : false;
