/**
 * Before something is changed, a dialog says what, where and how much; after it, what was done.
 *
 * Promises: nothing that changes a hub happens without a dialog; a number above 1 000 is typed by hand; what was done, or why
 * not, stays on the page until it is closed.
 */

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { exact } from "../format.ts";
import { Icon } from "./Icon.tsx";

/** Above this many the number is typed. */
const TYPED_ABOVE = 1000;

export interface Action {
  readonly title: string;
  /** What happens, to what. */
  readonly body: ComponentChildren;
  /** The word on the button. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** How many it concerns. */
  readonly count?: number;
  /** Does it, and says what was done. */
  readonly run: () => Promise<ComponentChildren>;
}

interface Note {
  readonly id: number;
  readonly tone: "ok" | "bad";
  readonly text: ComponentChildren;
}

/** Grows when something was changed from this page: what is shown is asked for again. */
export const changes = signal(0);

const asked = signal<Action | undefined>(undefined);
const notes = signal<readonly Note[]>([]);
let noteId = 0;

/** Asks the user; does it if the user agrees. */
export function confirm(action: Action): void {
  asked.value = action;
}

export function tell(tone: Note["tone"], text: ComponentChildren): void {
  noteId++;
  notes.value = [...notes.value.slice(-3), { id: noteId, tone, text }];
}

const close = (id: number) => (notes.value = notes.value.filter((note) => note.id !== id));

export function Notes() {
  return (
    <div class="notes" role="status" aria-live="polite">
      {notes.value.map((note) => (
        <div key={note.id} class={`note ${note.tone}`}>
          <div>{note.text}</div>
          <button type="button" class="icon-button" aria-label="Close this message" onClick={() => close(note.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}

export function ConfirmDialog() {
  const action = asked.value;
  return action === undefined ? null : <Dialog key={action.title} action={action} />;
}

function Dialog({ action }: { action: Action }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const isTyped = (action.count ?? 0) > TYPED_ABOVE;
  useEffect(() => dialog.current?.showModal(), []);
  const leave = () => {
    asked.value = undefined;
  };
  const run = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFault(undefined);
    try {
      const done = await action.run();
      leave();
      tell("ok", done);
      changes.value++;
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const mayRun = !isBusy && (!isTyped || typed.replaceAll(/\s/g, "") === String(action.count));
  return (
    <dialog ref={dialog} onClose={leave} aria-labelledby="confirm-title">
      <form onSubmit={run}>
        <h2 id="confirm-title">{action.title}</h2>
        <div class="dialog-body">{action.body}</div>
        {isTyped && (
          <div class="field">
            <label for="confirm-count">Type {exact(action.count ?? 0)} to confirm</label>
            <input id="confirm-count" inputMode="numeric" autocomplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
          </div>
        )}
        {fault !== undefined && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
        <div class="dialog-actions">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class={action.isDangerous === true ? "primary danger" : "primary"} disabled={!mayRun}>
            {isBusy ? "Working…" : action.verb}
          </button>
        </div>
      </form>
    </dialog>
  );
}
