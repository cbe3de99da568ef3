/**
 * The texts of payloads in a frame of events, as the hub sent them.
 *
 * `JSON.parse` rounds integers above 2⁵³. An application that needs them exact brings its own `parse` and `stringify`, and
 * gets the text itself.
 */

/** Reads and writes payloads in the application's own way: `JSON` is one, and so are libraries that lose no digit. */
export interface Payloads {
  parse(text: string): unknown;
  stringify(payload: unknown): string | undefined;
}

/** Gives each event of a frame its payload as the application reads it, when it is asked for. */
export function readPayloads(text: string, events: readonly object[], payloads: Payloads): void {
  const texts = payloadTexts(text);
  events.forEach((event, at) => {
    const own = texts[at];
    if (own !== undefined) readLater(event, () => payloads.parse(own));
  });
}

/** An exception of reading is thrown where the payload is used: in the handler, which nacks the event. */
function readLater(event: object, read: () => unknown): void {
  const settle = (value: unknown) => Object.defineProperty(event, "payload", { value, enumerable: true });
  const get = () => {
    const payload = read();
    settle(payload);
    return payload;
  };
  Object.defineProperty(event, "payload", { get, enumerable: true, configurable: true });
}

/** In the order of the events. The text is known to be JSON: it was parsed before. */
export function payloadTexts(text: string): string[] {
  const texts: string[] = [];
  const scan = new Scan(text);
  scan.object((name) => {
    if (name === "event") return scan.object((member) => scan.keep(member === "payload", texts));
    if (name === "events") return scan.array(() => scan.object((member) => scan.keep(member === "payload", texts)));
    return scan.value();
  });
  return texts;
}

const SPACE = /[ \t\n\r]*/y;
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
/** Numbers, and the three words. */
const WORD = /[^\s,\]}]+/y;
/** What is nested: strings as a whole, and what opens and closes. */
const NESTED = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]]/g;

class Scan {
  #at = 0;

  constructor(private readonly text: string) {}

  /** Calls `member` at each value, which has to pass over it. */
  object(member: (name: string) => void): void {
    this.#each("}", () => {
      const name = this.#match(STRING);
      this.#skip();
      this.#at++;
      this.#skip();
      member(JSON.parse(name) as string);
    });
  }

  array(item: () => void): void {
    this.#each("]", item);
  }

  #each(end: string, visit: () => void): void {
    this.#at++;
    this.#skip();
    while (this.text[this.#at] !== end) {
      visit();
      this.#skip();
      if (this.text[this.#at] === ",") this.#at++;
      this.#skip();
    }
    this.#at++;
  }

  keep(isWanted: boolean, texts: string[]): void {
    const value = this.value();
    if (isWanted) texts.push(value);
  }

  /** The text of the next value. */
  value(): string {
    const first = this.text[this.#at];
    if (first === '"') return this.#match(STRING);
    return first === "{" || first === "[" ? this.#nested() : this.#match(WORD);
  }

  #nested(): string {
    const begin = this.#at;
    let depth = 0;
    NESTED.lastIndex = begin;
    do {
      const found = NESTED.exec(this.text);
      if (found === null) throw new Error("a frame that does not end");
      if (found[0] === "{" || found[0] === "[") depth++;
      else if (found[0] === "}" || found[0] === "]") depth--;
    } while (depth > 0);
    this.#at = NESTED.lastIndex;
    return this.text.slice(begin, this.#at);
  }

  #skip(): void {
    this.#match(SPACE);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw new Error(`an odd frame at ${this.#at}`);
    this.#at += found.length;
    return found;
  }
}
