/** Curves over time, drawn by uPlot: many points cost little. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Series } from "../history.ts";
import { scheme } from "../theme.ts";

export interface Curve {
  readonly name: string;
  /** A variable of the style sheet. */
  readonly colour: string;
  readonly show: (value: number) => string;
  readonly scale?: string;
}

const HEIGHT = 190;
/** What is shown at first, in seconds: a curve that fills up from the right says how old it is. */
const SHORTEST = 120;

export function Chart({ series, curves, label }: { series: Series; curves: readonly Curve[]; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const theme = scheme.value;
  const newest = useRef(series);
  newest.current = series;
  // One point is no curve yet.
  const hasPoints = series.at.length > 1;
  useEffect(() => {
    const host = place.current;
    if (host === null || !hasPoints) return undefined;
    const made = new uPlot(options(host.clientWidth, curves), dataOf(newest.current, curves.length), host);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: host.clientWidth, height: HEIGHT }));
    watch.observe(host);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [theme, curves, hasPoints]);
  useEffect(() => {
    const made = plot.current;
    if (made === undefined) return;
    made.setData(dataOf(series, curves.length));
    // The newest values, until someone points at others.
    if ((made.cursor.left ?? -1) < 0) made.setLegend({ idx: series.at.length - 1 });
  }, [series, curves.length]);
  const last = series.values.map((values) => values.at(-1));
  const told = curves.map((curve, at) => `${curve.name} ${last[at] === undefined ? "not known yet" : curve.show(last[at])}`);
  if (!hasPoints) return <p class="chart muted">The chart starts in a few seconds.</p>;
  return <div class="chart" ref={place} role="img" aria-label={`${label}: now ${told.join(", ")}`} />;
}

/** Local time of the day. */
function clock(seconds: number): string {
  return new Date(seconds * 1000).toTimeString().slice(0, 8);
}

function dataOf(series: Series, count: number): uPlot.AlignedData {
  const values = Array.from({ length: count }, (_, at) => [...(series.values[at] ?? [])]);
  return [[...series.at], ...values] as uPlot.AlignedData;
}

function options(width: number, curves: readonly Curve[]): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  const scales = [...new Set(curves.map((curve) => curve.scale ?? "y"))];
  const axes = scales.map((scale, at) => {
    const show = curves.find((curve) => (curve.scale ?? "y") === scale)?.show ?? String;
    return { ...axis, scale, size: 62, side: (at === 0 ? 3 : 1) as uPlot.Axis.Side, grid: at === 0 ? axis.grid : { show: false }, values: (_: uPlot, splits: number[]) => splits.map((value) => show(value)) };
  });
  const range = (_: uPlot, _low: number | null, high: number | null): uPlot.Range.MinMax => [0, high === null || high <= 0 ? 1 : high * 1.15];
  const times = (_: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax => {
    const end = high ?? Date.now() / 1000;
    return [Math.min(low ?? end, end - SHORTEST), end];
  };
  return {
    width: Math.max(width, 50),
    height: HEIGHT,
    cursor: { points: { size: 6 }, y: false },
    legend: { show: true, live: true },
    hooks: { ready: [(made) => made.setLegend({ idx: made.data[0].length - 1 })] },
    scales: { x: { time: true, range: times }, ...Object.fromEntries(scales.map((scale) => [scale, { range }])) },
    axes: [{ ...axis, grid: { show: false }, space: 90, values: (_: uPlot, splits: number[]) => splits.map(clock) }, ...axes],
    series: [
      { label: "at", value: (_, at) => (at === null ? "–" : clock(at)) },
      ...curves.map((curve) => ({
        label: curve.name,
        scale: curve.scale ?? "y",
        stroke: colour(curve.colour),
        width: 1.75,
        points: { show: false },
        value: (_: uPlot, value: number | null) => (value === null ? "–" : curve.show(value)),
      })),
    ],
  };
}
