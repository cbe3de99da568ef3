/** The frame around every view: who may see it, where to go, what the hub is. */

import { useEffect } from "preact/hooks";
import { ask } from "./hub.ts";
import type { WhoAmI } from "@promethean/client/http";
import { signal } from "@preact/signals";
import { watchHub } from "./history.ts";
import { route, view } from "./route.ts";
import { me, refusal, token } from "./session.ts";
import { ConfirmDialog, Notes } from "./ui/confirm.tsx";
import { Empty, Failure, Loading } from "./ui/States.tsx";
import { Navigation } from "./Navigation.tsx";
import { SignIn } from "./SignIn.tsx";
import { VIEWS } from "./views.ts";

/** The menu names the trail where the token covers it. */
const AUDITED = "system.audit";

const trouble = signal<Error | undefined>(undefined);

async function meet(): Promise<void> {
  trouble.value = undefined;
  try {
    me.value = await ask<WhoAmI>(`/whoami?topic=${AUDITED}`);
    refusal.value = undefined;
  } catch (error) {
    if (refusal.value === undefined) trouble.value = error as Error;
  }
}

export function App() {
  const credential = token.value;
  useEffect(() => void meet(), [credential]);
  const known = me.value;
  useEffect(() => (known === undefined ? undefined : watchHub()), [known]);
  if (refusal.value !== undefined) return <SignIn reason={refusal.value} />;
  if (known === undefined) {
    return <main class="alone">{trouble.value === undefined ? <Loading /> : <Failure error={trouble.value} again={meet} />}</main>;
  }
  return (
    <>
      <a class="skip" href={`${location.hash || "#/"}`} onClick={skip}>
        Skip to content
      </a>
      <div class="frame">
        <Navigation />
        <main id="content" tabIndex={-1}>
          <CurrentView />
        </main>
      </div>
      <Notes />
      <ConfirmDialog />
    </>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function CurrentView() {
  const found = VIEWS.find((one) => one.id === view.value);
  const title = found?.label ?? "Not found";
  const subject = route.value.path[1];
  useEffect(() => {
    document.title = `${subject === undefined ? title : subject} · Promethean`;
  }, [title, subject]);
  if (found === undefined) {
    return (
      <Empty title="There is no such view">
        <a href="#/">Overview</a>
      </Empty>
    );
  }
  const { Show } = found;
  // Another subject is another view: nothing of the one before is left.
  return <Show key={route.value.path.join("/")} />;
}
