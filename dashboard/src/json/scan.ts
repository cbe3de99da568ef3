/**
 * Reads JSON without reading its numbers: what a payload says stays the text that was published.
 *
 * Promises: no number passes through a float; nothing here recurses over what a payload nests.
 */

/** A piece of JSON as it was written. */
export class Raw {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }

  /** So that a mistake shows: a payload written by `JSON.stringify` would have lost its digits before. */
  toJSON(): never {
    throw new Error("a payload is written by its text");
  }
}

export type TokenKind = "string" | "number" | "word" | "mark" | "space";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const TOKEN = /("[^"\\]*(?:\\.[^"\\]*)*")|(-?[0-9][0-9.eE+-]*)|(true|false|null)|([{}[\],:])|([ \t\n\r]+)/y;

/** All tokens; throws with the position where the text is no JSON. */
export function tokens(text: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) throw new SyntaxError(`at character ${at + 1}: ${JSON.stringify(text.slice(at, at + 12))}`);
    const [whole, string, number, word, mark] = match;
    const kind = string !== undefined ? "string" : number !== undefined ? "number" : word !== undefined ? "word" : mark !== undefined ? "mark" : "space";
    found.push({ kind, text: whole });
  }
  return found;
}

/** What is wrong with a text that should be JSON, or nothing. The grammar is the platform's; the value is thrown away. */
export function jsonFault(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const SPACE = /[ \t\n\r]*/y;
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const WORD = /[^\s,\]}]+/y;
const NUMBER = /^[-0-9]/;
const NESTED = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]]/g;

/** Members whose values are payloads, or hold some. */
export const KEPT: ReadonlySet<string> = new Set(["payload", "original", "schema", "example", "meta"]);

/** As `JSON.parse`, but members of these names are {@link Raw}. The text came from the hub, and is JSON. */
export function parseKeeping(text: string, kept: ReadonlySet<string> = KEPT): unknown {
  return new Reader(text, kept, "as values").read();
}

const NONE: ReadonlySet<string> = new Set();

/** As `JSON.parse`, but every number is {@link Raw}: for JSON of users that has to be looked into, such as a schema. */
export function parseExactly(text: string): unknown {
  return new Reader(text, NONE, "as written").read();
}

/** The text of what {@link parseExactly} gave. */
export function writeExactly(value: unknown): string {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(writeExactly).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    return `{${Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${writeExactly(member)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

class Reader {
  #at = 0;

  constructor(
    private readonly text: string,
    private readonly kept: ReadonlySet<string>,
    private readonly numbers: "as values" | "as written",
  ) {}

  read(): unknown {
    this.#match(SPACE);
    const value = this.#value();
    this.#match(SPACE);
    return value;
  }

  #value(): unknown {
    const first = this.text[this.#at];
    if (first === "{") return this.#object();
    if (first === "[") return this.#array();
    const simple = this.#simple();
    return this.numbers === "as written" && NUMBER.test(simple) ? new Raw(simple) : JSON.parse(simple);
  }

  #object(): Record<string, unknown> {
    const members: [string, unknown][] = [];
    this.#each("}", () => {
      const name = JSON.parse(this.#match(STRING)) as string;
      this.#match(SPACE);
      this.#at++;
      this.#match(SPACE);
      members.push([name, this.kept.has(name) ? new Raw(this.#span()) : this.#value()]);
    });
    return Object.fromEntries(members);
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    this.#each("]", () => items.push(this.#value()));
    return items;
  }

  #each(end: string, visit: () => void): void {
    this.#at++;
    this.#match(SPACE);
    while (this.text[this.#at] !== end) {
      visit();
      this.#match(SPACE);
      if (this.text[this.#at] === ",") this.#at++;
      this.#match(SPACE);
    }
    this.#at++;
  }

  #simple(): string {
    return this.text[this.#at] === '"' ? this.#match(STRING) : this.#match(WORD);
  }

  /** The text of the next value. */
  #span(): string {
    const first = this.text[this.#at];
    if (first !== "{" && first !== "[") return this.#simple();
    const begin = this.#at;
    let depth = 0;
    NESTED.lastIndex = begin;
    do {
      const found = NESTED.exec(this.text);
      if (found === null) throw new SyntaxError("an answer that does not end");
      if (found[0] === "{" || found[0] === "[") depth++;
      else if (found[0] === "}" || found[0] === "]") depth--;
    } while (depth > 0);
    this.#at = NESTED.lastIndex;
    return this.text.slice(begin, this.#at);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw new SyntaxError(`an odd answer at ${this.#at}`);
    this.#at += found.length;
    return found;
  }
}
