/** The menu: what the user's token allows, where the user is, and who the user is. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { stats } from "./history.ts";
import { route, view } from "./route.ts";
import { isOpen, me, signOut, token } from "./session.ts";
import { scheme, switchTheme } from "./theme.ts";
import { Flame } from "./ui/Flame.tsx";
import { Icon } from "./ui/Icon.tsx";
import { VIEWS } from "./views.ts";

export function Navigation() {
  const isShown = useSignal(false);
  const where = route.value;
  useEffect(() => {
    isShown.value = false;
  }, [where]);
  useEffect(() => {
    const close = (event: KeyboardEvent) => event.key === "Escape" && (isShown.value = false);
    document.addEventListener("keydown", close);
    return () => document.removeEventListener("keydown", close);
  }, []);
  const items = VIEWS.filter((one) => one.icon !== undefined && one.isOffered());
  return (
    <div class={isShown.value ? "side shown" : "side"}>
      <div class="brand">
        <a href="#/" aria-label="Promethean, overview">
          <Flame />
          <span>Promethean</span>
        </a>
        <button type="button" class="icon-button menu" aria-expanded={isShown.value} aria-controls="menu" aria-label="Menu" onClick={() => (isShown.value = !isShown.value)}>
          <Icon name={isShown.value ? "close" : "menu"} />
        </button>
      </div>
      <div class="side-body" id="menu">
        <nav aria-label="Views">
          {items.map(({ id, label, icon }) => (
            <a key={id} href={`#/${id === "overview" ? "" : id}`} aria-current={view.value === id ? "page" : undefined}>
              {icon !== undefined && <Icon name={icon} />}
              {label}
            </a>
          ))}
        </nav>
        <Foot />
      </div>
    </div>
  );
}

function Foot() {
  const who = isOpen.value ? "no auth: everyone may do everything" : (me.value?.subject ?? "a token without a name");
  return (
    <div class="foot">
      <div class="who" title={who}>
        {who}
      </div>
      <div class="foot-actions">
        <button type="button" class="small" onClick={switchTheme} aria-label={`Switch to ${scheme.value === "dark" ? "light" : "dark"}`}>
          <Icon name={scheme.value === "dark" ? "sun" : "moon"} />
          {scheme.value === "dark" ? "Light" : "Dark"}
        </button>
        {token.value !== "" && (
          <button type="button" class="small" onClick={signOut}>
            <Icon name="out" />
            Sign out
          </button>
        )}
      </div>
      <div class="version">
        prom {me.value?.version}
        {stats.value !== undefined && ` · ${[...new Set([stats.value.store.kind, stats.value.store.durability])].join(", ")}`}
      </div>
    </div>
  );
}
