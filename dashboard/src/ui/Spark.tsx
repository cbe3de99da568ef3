/** A curve the size of a word. */

const WIDTH = 120;
const HEIGHT = 28;
const POINTS = 90;

export function Spark({ values, label }: { values: readonly number[]; label: string }) {
  const last = values.slice(-POINTS);
  if (last.length < 2) return <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true" />;
  const top = Math.max(...last, 1e-9);
  const x = (at: number) => ((at / (last.length - 1)) * WIDTH).toFixed(1);
  const y = (value: number) => (HEIGHT - 2 - (value / top) * (HEIGHT - 4)).toFixed(1);
  const line = last.map((value, at) => `${at === 0 ? "M" : "L"}${x(at)} ${y(value)}`).join("");
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path class="area" d={`${line}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z`} />
      <path class="line" d={line} />
    </svg>
  );
}
