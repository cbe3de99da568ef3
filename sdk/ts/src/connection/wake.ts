/**
 * Waking up: a frozen tab, a laptop that slept, a network that came back. Timers stopped, and a connection may be dead
 * without a notice; the platform's own signals come first.
 */

interface Signs {
  addEventListener?(name: string, listener: () => void): void;
  removeEventListener?(name: string, listener: () => void): void;
  readonly visibilityState?: string;
}

/** Calls `onWake` whenever the page comes back; returns a function that stops it. Without a page nothing happens. */
export function watchWaking(onWake: () => void): () => void {
  const page = globalThis as { readonly window?: Signs; readonly document?: Signs };
  const onVisible = () => {
    if (page.document?.visibilityState !== "hidden") onWake();
  };
  const watched: [Signs | undefined, string, () => void][] = [
    [page.window, "online", onWake],
    [page.window, "pageshow", onWake],
    [page.document, "visibilitychange", onVisible],
    // After Chromium has frozen a tab.
    [page.document, "resume", onWake],
  ];
  for (const [target, name, listener] of watched) target?.addEventListener?.(name, listener);
  return () => {
    for (const [target, name, listener] of watched) target?.removeEventListener?.(name, listener);
  };
}
