/** Shows JSON, coloured by tokens. Text goes to the page as text: nothing of it is ever taken for markup. */

import { useState } from "preact/hooks";
import { Copy } from "../ui/Copy.tsx";
import { prettyLines, prettyText, visible } from "./pretty.ts";

/** Beyond this a browser scrolls badly; the rest is a click away. */
const LINES = 400;

export function Json({ text, label = "JSON" }: { text: string; label?: string }) {
  const [all, setAll] = useState(false);
  const lines = prettyLines(text);
  const shown = all ? lines : lines.slice(0, LINES);
  return (
    <div class="json">
      <Copy text={() => prettyText(text)} label={`Copy ${label}`} />
      <pre tabIndex={0} aria-label={label}>
        {shown.map((line, at) => (
          <div key={at} class="line">
            {"  ".repeat(line.indent)}
            {line.pieces.map((piece, index) => (
              <span key={index} class={`t-${piece.kind}`}>
                {visible(piece.text)}
              </span>
            ))}
          </div>
        ))}
      </pre>
      {lines.length > shown.length && (
        <button type="button" class="plain" onClick={() => setAll(true)}>
          Show all {lines.length} lines
        </button>
      )}
    </div>
  );
}
