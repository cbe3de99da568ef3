/** How long to wait before connecting again: doubling, with jitter, so that clients do not all come back at once. */

export class Backoff {
  #nextMs: number;

  constructor(
    private readonly firstMs: number,
    private readonly maxMs: number,
    private readonly random: () => number = Math.random,
  ) {
    this.#nextMs = firstMs;
  }

  /** Between half and all of the step. */
  waitMs(): number {
    const step = this.#nextMs;
    this.#nextMs = Math.min(step * 2, this.maxMs);
    return step * (0.5 + this.random() / 2);
  }

  reset(): void {
    this.#nextMs = this.firstMs;
  }
}
