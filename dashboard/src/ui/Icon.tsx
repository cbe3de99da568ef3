/** Small drawings, as paths of one stroke. */

const PATHS = {
  overview: "M3 13h4l3-9 4 16 3-7h4",
  topics: "M4 6h16M4 12h16M4 18h10",
  groups: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zm8 0a3 3 0 1 0 0-6M2 20c0-4 3-6 6-6s6 2 6 6m3-6c3 0 5 2 5 6",
  tail: "M4 17l5-5-5-5m8 10h8",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zm5-2l5 5",
  letters: "M3 7l9 6 9-6M3 6h18v12H3z",
  flows: "M4 7h11m-3-3l3 3-3 3m8 7H9m3-3l-3 3 3 3",
  schemas: "M8 4c-3 0-3 2-3 4s0 4-2 4c2 0 2 2 2 4s0 4 3 4m8-16c3 0 3 2 3 4s0 4 2 4c-2 0-2 2-2 4s0 4-3 4",
  state: "M4 5h16v14H4zM4 10h16M10 10v9",
  connections: "M9 15l6-6M7 11l-2 2a4 4 0 0 0 6 6l2-2m4-4l2-2a4 4 0 0 0-6-6l-2 2",
  publish: "M12 19V5m-6 6l6-6 6 6",
  audit: "M5 4h14v16H5zM9 9h6m-6 4h6m-6 4h3",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  download: "M12 4v11m-5-5l5 5 5-5M5 20h14",
  menu: "M4 6h16M4 12h16M4 18h16",
  moon: "M20 14a8 8 0 1 1-10-10 7 7 0 0 0 10 10z",
  sun: "M12 17a5 5 0 1 0 0-10 5 5 0 0 0 0 10zm0-15v2m0 16v2M2 12h2m16 0h2M5 5l1 1m12 12l1 1M5 19l1-1M18 6l1-1",
  pause: "M8 5v14m8-14v14",
  play: "M7 4l13 8-13 8z",
  close: "M6 6l12 12M18 6L6 18",
  warn: "M12 4l9 16H3zm0 6v4m0 3v.01",
  lock: "M6 11h12v9H6zm2 0V8a4 4 0 0 1 8 0v3",
  out: "M14 4h6v16h-6M10 8l-4 4 4 4m-4-4h10",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
