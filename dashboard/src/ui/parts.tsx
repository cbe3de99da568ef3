/** Small things that views are put together from. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

export type Tone = "ok" | "warn" | "bad" | "info" | "plain";

export function Badge({ tone = "plain", children, title }: { tone?: Tone; children: ComponentChildren; title?: string }) {
  return (
    <span class={`badge ${tone}`} title={title}>
      {children}
    </span>
  );
}

export function Head({ title, mono, children }: { title: ComponentChildren; mono?: boolean; children?: ComponentChildren }) {
  return (
    <header class="head">
      <h1 class={mono === true ? "mono" : ""}>{title}</h1>
      {children !== undefined && <div class="head-actions">{children}</div>}
    </header>
  );
}

export function Panel({ title, aside, children, flush }: { title?: ComponentChildren; aside?: ComponentChildren; children: ComponentChildren; flush?: boolean }) {
  return (
    <section class={flush === true ? "panel flush" : "panel"}>
      {title !== undefined && (
        <div class="panel-head">
          <h2>{title}</h2>
          {aside}
        </div>
      )}
      {children}
    </section>
  );
}

/** A number with its name; and, below it, what makes it mean something. */
export function Figure({
  name,
  value,
  note,
  tone,
  link,
  children,
}: {
  name: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  tone?: Tone;
  link?: string;
  children?: ComponentChildren;
}) {
  const inside = (
    <>
      <span class="figure-name">{name}</span>
      <span class="figure-value">{value}</span>
      {note !== undefined && <span class="figure-note">{note}</span>}
      {children}
    </>
  );
  const kind = `figure ${tone ?? "plain"}`;
  return link === undefined ? (
    <div class={kind}>{inside}</div>
  ) : (
    <a class={kind} href={link}>
      {inside}
    </a>
  );
}

export function Facts({ of }: { of: readonly (readonly [string, ComponentChildren] | undefined)[] }) {
  return (
    <dl class="facts">
      {of.map(
        (fact) =>
          fact !== undefined && (
            <div key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

export function Tabs({ now, of }: { now: string; of: readonly (readonly [string, string, string])[] }) {
  const place = useRef<HTMLElement>(null);
  // On a phone they do not fit side by side: the one that is shown comes into sight.
  useEffect(() => {
    const [nav, tab] = [place.current, place.current?.querySelector<HTMLElement>("[aria-current]")];
    if (nav && tab) nav.scrollLeft = tab.offsetLeft - nav.offsetLeft - 24;
  }, [now]);
  return (
    <nav class="tabs" aria-label="Sections" ref={place}>
      {of.map(([id, label, link]) => (
        <a key={id} href={link} aria-current={id === now ? "page" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
}

type FieldProps = {
  label: string;
  hint?: ComponentChildren;
  fault?: string | undefined;
  wide?: boolean;
  children: (id: string, described: string | undefined) => ComponentChildren;
};

/** A labelled input with its hint and its fault. */
export function Field({ label, hint, fault, wide, children }: FieldProps) {
  const id = useId();
  const has = hint !== undefined || fault !== undefined;
  return (
    <div class={wide === true ? "field wide" : "field"}>
      <label for={id}>{label}</label>
      {children(id, has ? `${id}-hint` : undefined)}
      {has && (
        <span id={`${id}-hint`} class={fault === undefined ? "hint" : "fault"}>
          {fault ?? hint}
        </span>
      )}
    </div>
  );
}

type TextProps = Omit<FieldProps, "children"> & {
  value: string;
  set: (value: string) => void;
  placeholder?: string;
  lines?: number;
  mono?: boolean;
  type?: "text" | "password" | "number" | "datetime-local" | "search";
  list?: readonly string[];
};

export function Text({ value, set, placeholder, lines, mono, type, list, ...field }: TextProps) {
  const listId = useId();
  return (
    <Field {...field}>
      {(id, described) => {
        const shared = {
          id,
          value,
          placeholder,
          "aria-describedby": described,
          "aria-invalid": field.fault !== undefined,
          spellcheck: false,
          autocomplete: "off" as const,
          autocapitalize: "off" as const,
          class: mono === true ? "mono" : "",
        };
        return lines === undefined ? (
          <>
            <input {...shared} type={(type ?? "text") as "text"} list={list === undefined ? undefined : listId} onInput={(event) => set(event.currentTarget.value)} />
            {list !== undefined && (
              <datalist id={listId}>
                {list.map((one) => (
                  <option key={one} value={one} />
                ))}
              </datalist>
            )}
          </>
        ) : (
          <textarea {...shared} rows={lines} onInput={(event) => set(event.currentTarget.value)} />
        );
      }}
    </Field>
  );
}

export function Choice<Value extends string>({
  value,
  set,
  of,
  ...field
}: Omit<FieldProps, "children"> & { value: Value; set: (value: Value) => void; of: readonly (readonly [Value, string])[] }) {
  return (
    <Field {...field}>
      {(id, described) => (
        <select id={id} value={value} aria-describedby={described} onChange={(event) => set(event.currentTarget.value as Value)}>
          {of.map(([one, label]) => (
            <option key={one} value={one}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
