/**
 * Headers of events: the application's own `x-…` names, `content-type`, `traceparent` and `tracestate`.
 *
 * Promises the hub's answers; `protocol/vectors/headers.json` checks both.
 */

const NAME_BYTES = 128;
const VALUE_BYTES = 8 * 1024;
const OWN_NAME = /^x-[a-z0-9-]+$/;
/** Everything that Unicode calls a control character, except the tab. */
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/;

/** The form in which the hub keeps the name, or `undefined` if it refuses it. */
export function canonicalHeaderName(name: string): string | undefined {
  if (name.length > NAME_BYTES) return undefined;
  const lower = name.toLowerCase();
  if (lower === "content-type" && name.length === lower.length) return lower;
  return name === "traceparent" || name === "tracestate" || OWN_NAME.test(name) ? name : undefined;
}

/** What is wrong with a header, if anything. */
export function headerFault(name: string, value: string): string | undefined {
  if (canonicalHeaderName(name) === undefined) {
    return "names are x- followed by a-z, 0-9 and dashes (128 bytes at most), or content-type, traceparent, tracestate";
  }
  if (CONTROL.test(value)) return "its value has a control character";
  // Never more than three bytes per UTF-16 unit: only long values must be encoded to be measured.
  if (value.length * 3 > VALUE_BYTES && new TextEncoder().encode(value).length > VALUE_BYTES) {
    return `its value is longer than ${VALUE_BYTES} bytes`;
  }
  return undefined;
}
