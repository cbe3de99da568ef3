/** A filter that the hub applies: it is in the address, so that a view can be passed on. */

import { useEffect, useRef, useState } from "preact/hooks";
import { route, setQuery } from "../route.ts";

/** Between two keystrokes of someone who types. */
const REST_MS = 250;

export function Filter({ label, placeholder }: { label: string; placeholder: string }) {
  const now = route.value.query.get("q") ?? "";
  const [text, setText] = useState(now);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const sent = useRef(now);
  useEffect(() => () => clearTimeout(timer.current), []);
  const set = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      sent.current = value.trim();
      setQuery({ q: sent.current, next: undefined, p: undefined });
    }, REST_MS);
  };
  // Another address was followed, such as that of the view itself.
  useEffect(() => {
    if (now === sent.current) return;
    clearTimeout(timer.current);
    sent.current = now;
    setText(now);
  }, [now]);
  return (
    <input class="filter" type="search" aria-label={label} placeholder={placeholder} value={text} spellcheck={false} autocomplete="off" onInput={(event) => set(event.currentTarget.value)} />
  );
}
