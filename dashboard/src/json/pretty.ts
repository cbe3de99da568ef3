/** Lays JSON out for reading, token by token: every string and number stays as it was written. */

import { type Token, tokens } from "./scan.ts";

/** A part of a line: `name` is the name of a member. */
export interface Piece {
  readonly kind: Token["kind"] | "name";
  readonly text: string;
}

export interface Line {
  readonly indent: number;
  readonly pieces: readonly Piece[];
}

/** The lines; a text that is no JSON is one line of it. */
export function prettyLines(text: string): Line[] {
  try {
    return layOut(tokens(text).filter((token) => token.kind !== "space"));
  } catch {
    return [{ indent: 0, pieces: [{ kind: "word", text }] }];
  }
}

export function prettyText(text: string): string {
  return prettyLines(text)
    .map((line) => "  ".repeat(line.indent) + line.pieces.map((piece) => piece.text).join(""))
    .join("\n");
}

/**
 * Characters that turn or hide the text around them, as JSON would write them: else an event could show one thing and say
 * another. For the screen only; what is copied, edited or sent stays as it is.
 */
export function visible(text: string): string {
  return text.replace(HIDDEN, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Marks and overrides of direction, separators of lines, and characters without width that join nothing. */
const HIDDEN = /[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/g;

/** On one line, with a space after each comma and colon. */
export function compactText(text: string, most: number): string {
  // Cut before it is read: rows of a table show the beginning of a megabyte.
  const cut = text.length > most * 4 ? text.slice(0, most * 4) : text;
  const oneLine = cut.replaceAll(/[\n\r\t]+/g, " ");
  return visible(oneLine.length > most ? `${oneLine.slice(0, most)}…` : cut.length < text.length ? `${oneLine}…` : oneLine);
}

function layOut(all: readonly Token[]): Line[] {
  const lines: Line[] = [];
  let indent = 0;
  let pieces: Piece[] = [];
  const end = () => {
    if (pieces.length > 0) lines.push({ indent, pieces });
    pieces = [];
  };
  all.forEach((token, at) => {
    const next = all[at + 1]?.text;
    if (token.kind === "mark") {
      if (token.text === "{" || token.text === "[") {
        pieces.push(token);
        if (next === "}" || next === "]") return;
        end();
        indent++;
      } else if (token.text === "}" || token.text === "]") {
        const before = all[at - 1]?.text;
        if (before !== "{" && before !== "[") {
          end();
          indent--;
        }
        pieces.push(token);
      } else if (token.text === ",") {
        pieces.push(token);
        end();
      } else pieces.push({ kind: "mark", text: ": " });
    } else pieces.push(next === ":" ? { kind: "name", text: token.text } : token);
  });
  end();
  return lines;
}
