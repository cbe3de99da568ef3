/** What a view shows when there is nothing to show: yet, at all, or for this user; and when asking went wrong. */

import type { ComponentChildren } from "preact";
import type { Asked } from "../asking.ts";
import { Problem, Unreachable } from "../hub.ts";
import { Icon } from "./Icon.tsx";

export function Loading({ what = "" }: { what?: string }) {
  return (
    <div class="state" role="status">
      <span class="spinner" aria-hidden="true" />
      Loading{what === "" ? "" : ` ${what}`}…
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state empty">
      <strong>{title}</strong>
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}

/** The hub's own words: they say how to mend it. */
export function Failure({ error, again }: { error: Error; again?: () => void }) {
  if (error instanceof Problem && error.isForbidden) return <Forbidden detail={error.message} />;
  return (
    <div class="state bad" role="alert">
      <Icon name="warn" />
      <div>
        <strong>{titleOf(error)}</strong>
        <p>{error.message}</p>
        {again !== undefined && (
          <button type="button" onClick={again}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}

function titleOf(error: Error): string {
  if (error instanceof Unreachable) return "The hub does not answer";
  return error instanceof Problem && error.status === 404 ? "Not found" : "That did not work";
}

export function Forbidden({ detail }: { detail: string }) {
  return (
    <div class="state forbidden">
      <Icon name="lock" />
      <div>
        <strong>Your token does not allow this</strong>
        <p>{detail}</p>
      </div>
    </div>
  );
}

/** The answer where it is there; else why it is not. A failed repetition leaves the last answer, marked. */
export function Answered<Answer>({
  asked,
  what,
  children,
}: {
  asked: Asked<Answer>;
  what?: string;
  children: (data: Answer) => ComponentChildren;
}) {
  const { data, error, isFirst, again } = asked;
  if (data === undefined) {
    if (error !== undefined) return <Failure error={error} again={again} />;
    return isFirst ? <Loading what={what ?? ""} /> : null;
  }
  return (
    <>
      {error !== undefined && (
        <p class="stale" role="alert">
          <Icon name="warn" /> Not current: {error.message}
        </p>
      )}
      {children(data)}
    </>
  );
}
