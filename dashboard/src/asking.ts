/** Hooks that ask the hub, once or again and again, for as long as a view is looked at. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { restUntil } from "./history.ts";
import { ask } from "./hub.ts";
import { token } from "./session.ts";
import { changes } from "./ui/confirm.tsx";

export interface Asked<Answer> {
  /** The last answer, also while a newer one is awaited or failed. */
  readonly data: Answer | undefined;
  readonly error: Error | undefined;
  readonly isFirst: boolean;
  readonly again: () => void;
}

/** Asks for the path now and every so often; not while the page is hidden. `null` asks nothing. */
export function useAsk<Answer>(path: string | null, everyMs?: number, keeps?: readonly string[]): Asked<Answer> {
  const [state, setState] = useState<{ path: string | null; data?: Answer; error?: Error }>({ path: null });
  const [round, setRound] = useState(0);
  const waits = useRef(false);
  const nextAt = useRef(0);
  const credential = token.value;
  const change = changes.value;
  useEffect(() => {
    if (path === null) return undefined;
    const ended = new AbortController();
    const once = async () => {
      const began = performance.now();
      if (waits.current || document.hidden || began < nextAt.current) return;
      waits.current = true;
      try {
        const data = await ask<Answer>(path, { signal: ended.signal, keeps });
        if (!ended.signal.aborted) setState({ path, data });
      } catch (error) {
        if (ended.signal.aborted) return;
        const known = error instanceof Error ? error : new Error(String(error));
        setState((before) => (before.path === path && before.data !== undefined ? { path, data: before.data, error: known } : { path, error: known }));
      } finally {
        waits.current = false;
        nextAt.current = restUntil(began);
      }
    };
    waits.current = false;
    nextAt.current = 0;
    void once();
    const timer = everyMs === undefined ? undefined : setInterval(once, everyMs);
    const seen = () => void once();
    if (everyMs !== undefined) document.addEventListener("visibilitychange", seen);
    return () => {
      ended.abort();
      clearInterval(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [path, everyMs, round, credential, change, keeps]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  const isOurs = state.path === path;
  return {
    data: isOurs ? state.data : undefined,
    error: isOurs ? state.error : undefined,
    isFirst: !isOurs || (state.data === undefined && state.error === undefined),
    again,
  };
}
