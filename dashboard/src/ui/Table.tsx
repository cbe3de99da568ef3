/** Tables. What is sorted, the hub has sorted: a click on a heading asks again. */

import type { ComponentChildren } from "preact";

export interface Column<Row> {
  readonly name: string;
  readonly show: (row: Row) => ComponentChildren;
  /** Right-aligned, in figures of one width. */
  readonly number?: boolean;
  /** Left out where there is little room. */
  readonly wide?: boolean;
  /** As the hub calls it. */
  readonly sort?: string;
}

export interface Sorting {
  /** The name of a column; with `-` before it, the largest first. */
  readonly by: string;
  readonly set: (by: string) => void;
}

export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
  sorting,
}: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  sorting?: Sorting;
}) {
  return (
    <div class="table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading key={column.name} column={column} sorting={sorting} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} class={kind(column)}>
                  {column.show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function kind<Row>(column: Column<Row>): string {
  return [column.number === true && "number", column.wide === true && "wide-only"].filter(Boolean).join(" ");
}

function Heading<Row>({ column, sorting }: { column: Column<Row>; sorting: Sorting | undefined }) {
  const { sort } = column;
  if (sorting === undefined || sort === undefined) {
    return (
      <th scope="col" class={kind(column)}>
        {column.name === "" ? <span class="off-screen">Actions</span> : column.name}
      </th>
    );
  }
  const [ascending, descending] = [sort, `-${sort}`];
  const now = sorting.by === ascending ? "ascending" : sorting.by === descending ? "descending" : "none";
  // Numbers are looked at from the largest.
  const next = column.number === true ? (now === "descending" ? ascending : descending) : now === "ascending" ? descending : ascending;
  return (
    <th scope="col" class={kind(column)} aria-sort={now}>
      <button type="button" class="sort" onClick={() => sorting.set(next)}>
        {column.name}
        <span aria-hidden="true" class={`arrow ${now}`} />
      </button>
    </th>
  );
}
