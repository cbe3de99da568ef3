/** Numbers, times and sizes for people. Exact where they decide something, short where they are looked at. No line ends within one. */

/** Groups of three digits, with a narrow space. */
export function exact(count: number): string {
  return Math.round(count)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** `1.2k`, `3.4M`. */
export function short(count: number): string {
  if (!Number.isFinite(count)) return "–";
  const size = Math.abs(count);
  if (size < 1000) return Number.isInteger(count) ? String(count) : count.toFixed(size < 10 ? 1 : 0);
  for (const [unit, of] of [["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12]] as const) {
    const value = count / of;
    if (Math.abs(value) < 999.5) return `${value.toFixed(Math.abs(value) < 10 ? 1 : 0)}${unit}`;
  }
  return count.toExponential(1);
}

export function bytes(count: number): string {
  let value = count;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (value < 1023.5) return `${unit === "B" || value >= 100 ? Math.round(value) : value.toFixed(1)}\u00a0${unit}`;
    value /= 1024;
  }
  return `${value.toFixed(1)}\u00a0TiB`;
}

export function rate(perSecond: number | null | undefined): string {
  return perSecond === null || perSecond === undefined ? "–" : `${short(perSecond)}/s`;
}

/** `1.2 s`, `3 min 10 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}\u00a0ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)}\u00a0s`;
  if (seconds < 60) return `${Math.round(seconds)}\u00a0s`;
  const parts: [number, string][] = [[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  for (const [at, [size, unit]] of parts.entries()) {
    if (seconds < size) continue;
    const whole = Math.floor(seconds / size);
    const next = parts[at + 1];
    const rest = next === undefined ? 0 : Math.floor((seconds - whole * size) / next[0]);
    return rest > 0 && next !== undefined ? `${whole}\u00a0${unit}\u00a0${rest}\u00a0${next[1]}` : `${whole}\u00a0${unit}`;
  }
  return `${Math.round(seconds)}\u00a0s`;
}

const two = (value: number) => String(value).padStart(2, "0");

/** `14:03:59.120`, with the date if it is another day. Local time. */
export function time(ms: number): string {
  const at = new Date(ms);
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
  return at.toDateString() === new Date().toDateString() ? clock : `${day(at)} ${clock}`;
}

export function dateTime(ms: number): string {
  const at = new Date(ms);
  return `${day(at)} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

function day(at: Date): string {
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

export function ago(ms: number): string {
  const since = Date.now() - ms;
  return since < 1000 ? "now" : `${duration(since)}\u00a0ago`;
}

export function many(count: number, one: string, more = `${one}s`): string {
  return `${exact(count)} ${count === 1 ? one : more}`;
}

/** The hub's words as a sentence of its own. */
export function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** In single quotes for a POSIX shell. */
export function shell(text: string): string {
  return /^[A-Za-z0-9._:/@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
