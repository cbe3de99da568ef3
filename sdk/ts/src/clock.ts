/** The clock of deadlines: milliseconds that never go back. */
export function nowMs(): number {
  return performance.now();
}
