/** Signing in with a token. */

import { useState } from "preact/hooks";
import { signIn } from "./session.ts";
import { Flame } from "./ui/Flame.tsx";
import { Text } from "./ui/parts.tsx";

export function SignIn({ reason }: { reason: string }) {
  const [text, setText] = useState("");
  const [keeps, setKeeps] = useState(true);
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() !== "") signIn(text, keeps ? "in this tab" : "in memory");
  };
  return (
    <main class="alone">
      <form class="sign-in panel" onSubmit={submit}>
        <div class="brand">
          <Flame />
          <h1>Promethean</h1>
        </div>
        <p>This hub needs a token. The page shows what its scopes allow.</p>
        {reason !== "" && (
          <p class="fault" role="alert">
            {reason}
          </p>
        )}
        <Text label="Token" value={text} set={setText} type="password" mono placeholder="eyJ…" />
        <label class="check">
          <input type="checkbox" checked={keeps} onChange={(event) => setKeeps(event.currentTarget.checked)} />
          Keep it until this tab is closed
        </label>
        <button type="submit" class="primary" disabled={text.trim() === ""}>
          Sign in
        </button>
        <p class="hint">
          A token for development: <code>prom token --scope ops --scope 'subscribe:**'</code>
        </p>
      </form>
    </main>
  );
}
