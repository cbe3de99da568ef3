// The figures as a table: medians, spread and ratios.

export function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const thousands = (value) => `${(value / 1000).toFixed(1)} k/s`;
const spread = (values) => `${(Math.min(...values) / 1000).toFixed(0)}–${(Math.max(...values) / 1000).toFixed(0)}`;

/** `figures[verb][contender]` are events per second, one for each round. */
export function printTable(figures, goal) {
  const rows = [["", "promethean", "rounds", "nats", "rounds", "ratio", "goal"]];
  let isReached = true;
  for (const [verb, { promethean, nats }] of Object.entries(figures)) {
    const ratio = median(promethean) / median(nats);
    isReached &&= ratio >= goal;
    const sides = [promethean, nats].flatMap((values) => [thousands(median(values)), spread(values)]);
    rows.push([verb, ...sides, `${ratio.toFixed(2)} ×`, `${ratio >= goal ? "≥" : "missed:"} ${goal} ×`]);
  }
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  for (const row of rows)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    );
  return isReached;
}
