// Keeps a number of calls in flight until a total has been done.

/** `call` returns a promise. */
export function pump(count, window, call) {
  return new Promise((resolve, reject) => {
    let started = 0;
    let done = 0;
    const next = () => {
      if (started === count) return;
      started++;
      call().then(finished, reject);
    };
    const finished = () => (++done === count ? resolve() : next());
    for (let at = 0; at < window; at++) next();
  });
}
