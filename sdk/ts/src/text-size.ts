/** How many bytes a text takes on the wire, without encoding it if that can be avoided. */

const encoder = new TextEncoder();

/** One UTF-16 unit takes at most this many bytes of UTF-8. */
export const WIDEST = 3;

export function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}

export function exceedsBytes(text: string, limit: number): boolean {
  if (text.length * WIDEST <= limit) return false;
  return text.length > limit || utf8Bytes(text) > limit;
}

/** The longest prefix of the text that takes no more bytes. */
export function cutToBytes(text: string, limit: number): string {
  if (!exceedsBytes(text, limit)) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(limit));
  return text.slice(0, read);
}

const HALF_PAIRS = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** With the replacement character for halves of surrogate pairs: they are no text, and hubs refuse them. */
export function wellFormed(text: string): string {
  return text.replace(HALF_PAIRS, "\ufffd");
}
