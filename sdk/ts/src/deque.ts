/** A queue: in at the end, out at the front, both in constant time. */
export class Deque<Item> {
  #items: (Item | undefined)[] = [];
  /** Entries before this index have left. */
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

  get first(): Item | undefined {
    return this.#items[this.#first];
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    const item = this.#items[this.#first];
    if (item === undefined) return undefined;
    this.#items[this.#first++] = undefined;
    if (this.#first === this.#items.length) this.clear();
    else if (this.#first > 4096 && this.#first * 2 > this.#items.length) this.#pack();
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#first = 0;
  }

  forEach(visit: (item: Item) => void): void {
    for (let at = this.#first; at < this.#items.length; at++) visit(this.#items[at] as Item);
  }

  /** Keeps the entries for which it is true, in order. */
  retain(keeps: (item: Item) => boolean): void {
    this.#items = this.#items.slice(this.#first).filter((item) => keeps(item as Item));
    this.#first = 0;
  }

  #pack(): void {
    this.#items = this.#items.slice(this.#first);
    this.#first = 0;
  }
}
