/** Dark or light: as the system has it, unless the user chose. */

import { computed, effect, signal } from "@preact/signals";

type Scheme = "light" | "dark";

const STORED = "promethean.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemScheme = signal<Scheme>(system.matches ? "dark" : "light");
const chosen = signal<Scheme | undefined>(read());

export const scheme = computed<Scheme>(() => chosen.value ?? systemScheme.value);

function read(): Scheme | undefined {
  try {
    const stored = localStorage.getItem(STORED);
    return stored === "light" || stored === "dark" ? stored : undefined;
  } catch {
    return undefined;
  }
}

export function followTheme(): void {
  system.addEventListener("change", () => (systemScheme.value = system.matches ? "dark" : "light"));
  effect(() => {
    document.documentElement.dataset["theme"] = scheme.value;
  });
}

export function switchTheme(): void {
  chosen.value = scheme.value === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(STORED, chosen.value);
  } catch {
    // It holds for this visit then.
  }
}
