/**
 * Ids of events: UUIDs of version 7 that only grow, even when the clock stands still or jumps back.
 *
 * An id is 48 bits of milliseconds, 50 random bits drawn for each millisecond, which tell makers apart, and 24 bits that
 * count within the millisecond. The count comes last, so that making the next id costs one short string.
 */

const COUNTER_LIMIT = 2 ** 24;
/** 000 to fff. */
const THREE_DIGITS = Array.from({ length: 4096 }, (_, number) => number.toString(16).padStart(3, "0"));

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const NIL = "00000000-0000-0000-0000-000000000000";

/** Whether the hub accepts this as an id. */
export function isEventId(text: string): boolean {
  return UUID.test(text) && text !== NIL;
}

export class IdMaker {
  #millis = 0;
  #counter = 0;
  /** Everything but the count. */
  #head = "";
  /** Everything but its last three digits. */
  #start = "";

  make(nowMs: number): string {
    if (nowMs > this.#millis) this.#begin(nowMs);
    else if (++this.#counter === COUNTER_LIMIT) this.#begin(this.#millis + 1);
    const low = this.#counter & 0xfff;
    if (low === 0) this.#start = this.#head + THREE_DIGITS[this.#counter >>> 12];
    return this.#start + THREE_DIGITS[low];
  }

  #begin(millis: number): void {
    this.#millis = millis;
    this.#counter = 0;
    const time = millis.toString(16).padStart(12, "0");
    const bytes = crypto.getRandomValues(new Uint8Array(7));
    // The variant.
    bytes[2] = 0x80 | ((bytes[2] as number) & 0x3f);
    const random = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    this.#head = `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(1, 4)}-${random.slice(4, 8)}-${random.slice(8)}`;
  }
}
