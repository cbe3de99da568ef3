/**
 * Who the user is, and what the token allows.
 *
 * Promises: the token is in memory, and in the storage of this tab if the user wants that; never in an address, a cookie or
 * storage that outlives the tab.
 */

import type { WhoAmI } from "@promethean/client/http";
import { computed, signal } from "@preact/signals";

const STORED = "promethean.token";

export const token = signal(read());
/** What the hub said about the token; nothing before it was asked. */
export const me = signal<WhoAmI | undefined>(undefined);
/** Why the user has to sign in. */
export const refusal = signal<string | undefined>(undefined);

function read(): string {
  try {
    return sessionStorage.getItem(STORED) ?? "";
  } catch {
    return "";
  }
}

export function signIn(text: string, keeps: "in this tab" | "in memory"): void {
  token.value = text.trim();
  me.value = undefined;
  refusal.value = undefined;
  try {
    if (keeps === "in this tab") sessionStorage.setItem(STORED, token.value);
    else sessionStorage.removeItem(STORED);
  } catch {
    // Without storage it stays in memory.
  }
}

export function signOut(): void {
  signIn("", "in memory");
}

/** The hub does not take the token, or wants one. */
export function refused(reason: string): void {
  me.value = undefined;
  refusal.value = token.value === "" ? "" : reason;
}

type Action = keyof WhoAmI["rights"];

/** Whether it makes sense to offer something. The hub decides again when it is asked. */
export function may(action: Action, reach: "everywhere" | "somewhere" = "somewhere"): boolean {
  const found = me.value?.rights[action];
  return found === "everywhere" || (reach === "somewhere" && found === "somewhere");
}

export const isOpen = computed(() => me.value?.open === true);
