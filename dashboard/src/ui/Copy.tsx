/** Copies a text, and says so. */

import { useState } from "preact/hooks";
import { Icon } from "./Icon.tsx";

export function Copy({ text, label, children }: { text: string | (() => string); label: string; children?: string }) {
  const [told, setTold] = useState("");
  const copy = async () => {
    const value = typeof text === "function" ? text() : text;
    try {
      await navigator.clipboard.writeText(value);
      setTold("copied");
    } catch {
      // Pages over plain HTTP from other machines have no clipboard.
      setTold(copyBySelection(value) ? "copied" : "select and copy it by hand");
    }
    setTimeout(() => setTold(""), 1500);
  };
  return (
    <button type="button" class={children === undefined ? "icon-button" : "small"} onClick={copy} aria-label={children === undefined ? label : undefined} title={label}>
      <Icon name="copy" />
      {children}
      <span class="told" role="status">
        {told}
      </span>
    </button>
  );
}

function copyBySelection(value: string): boolean {
  const area = document.createElement("textarea");
  area.value = value;
  area.className = "off-screen";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
