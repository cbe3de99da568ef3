/** The messages between the harness and its supervisor. Every request has one answer. */

export type ToSupervisor =
  | {
      readonly do: "start";
      readonly binary: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly timeoutMs: number;
    }
  | { readonly do: "end"; readonly signal: "SIGKILL" | "SIGTERM" };

export type FromSupervisor =
  | { readonly is: "ready"; readonly pid: number; readonly address: string }
  /** `said` is the end of its standard error. */
  | { readonly is: "ended"; readonly status: string; readonly said: string }
  | { readonly is: "failed"; readonly reason: string };
