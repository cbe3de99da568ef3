/** Assertions for scenarios: they need nothing of Node, and wait for conditions with a deadline. */

/** Longer than anything takes that works, on a busy machine. */
const DEADLINE_MS = 20_000;
const LOOK_EVERY_MS = 5;

export function ok(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

/** Compares as JSON compares: objects by their members, in any order. */
export function equal(actual: unknown, expected: unknown, message = "unexpected value"): void {
  const [found, wanted] = [canonical(actual), canonical(expected)];
  if (found !== wanted) throw new Error(`${message}: ${found} instead of ${wanted}`);
}

/** Waits until the condition holds. */
export async function until(condition: () => boolean, what: string, deadlineMs = DEADLINE_MS): Promise<void> {
  const begin = performance.now();
  while (!condition()) {
    if (performance.now() - begin > deadlineMs) throw new Error(`waited ${deadlineMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** As `until`, for conditions that have to be asked for. */
export async function eventually(condition: () => Promise<boolean>, what: string, deadlineMs = DEADLINE_MS): Promise<void> {
  const begin = performance.now();
  while (!(await condition())) {
    if (performance.now() - begin > deadlineMs) throw new Error(`waited ${deadlineMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** The promise's value, unless it takes too long. */
export async function within<Value>(promise: Promise<Value>, what: string, deadlineMs = DEADLINE_MS): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${deadlineMs} ms in vain: ${what}`)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for the promise to reject with this code, and gives the error. */
export async function rejectsWithCode<Failure extends { readonly code: string }>(
  promise: Promise<unknown>,
  code: Failure["code"],
): Promise<Failure> {
  const outcome = await within(
    promise.then(
      () => undefined,
      (error: unknown) => error as Failure,
    ),
    `a refusal with ${code}`,
  );
  if (outcome === undefined) throw new Error(`it was not refused, and should have been with ${code}`);
  if (outcome.code !== code) throw new Error(`refused with ${outcome.code} instead of ${code}: ${String(outcome)}`);
  return outcome;
}

function canonical(value: unknown): string {
  const sorted = (_: string, member: unknown): unknown => {
    if (typeof member !== "object" || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([left], [right]) => (left < right ? -1 : 1)));
  };
  return JSON.stringify(value, sorted) ?? String(value);
}
