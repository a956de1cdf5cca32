// The order of the rows of a table: the viewer chooses a column, and the choice stands in the address. Pure.

/** The value of a row in a column; undefined: there is none, and it comes last either way. */
export type SortValue = number | string | undefined;

/** A column that rows can be sorted by. */
export interface Sortable<Row> {
  readonly title: string;
  readonly isNumber?: boolean;
  readonly sort?: (row: Row) => SortValue;
  /** The first click shows the largest first. Default: for figures. */
  readonly isLargestFirst?: boolean;
}

export interface Order<Row> {
  readonly column: Sortable<Row>;
  readonly isFalling: boolean;
}

/** A column as addresses name it: `Last use` is `last-use`. */
export function columnName(title: string): string {
  return title.toLowerCase().replace(/[^a-z0-9]+/g, '-');
}

/** The order that the text of an address stands for; undefined: that of the list itself. */
export function orderIn<Row>(text: string, columns: readonly Sortable<Row>[]): Order<Row> | undefined {
  const isFalling = text.startsWith('-');
  const name = isFalling ? text.slice(1) : text;
  const column = columns.find(({ title, sort }) => sort !== undefined && columnName(title) === name);
  return column === undefined ? undefined : { column, isFalling };
}

/** The text after a click on a column: figures fall at first, words rise; then the other way, then as the list is. */
export function nextOrder<Row>(column: Sortable<Row>, order: Order<Row> | undefined): string | undefined {
  const name = columnName(column.title);
  const first = column.isLargestFirst ?? column.isNumber === true;
  if (order?.column.title !== column.title) return first ? `-${name}` : name;
  if (order.isFalling === first) return first ? name : `-${name}`;
  return undefined;
}

const words = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

export function sorted<Row>(rows: readonly Row[], order: Order<Row> | undefined): readonly Row[] {
  const valueIn = order?.column.sort;
  if (order === undefined || valueIn === undefined) return rows;
  const sign = order.isFalling ? -1 : 1;
  return rows
    .map((row) => ({ row, value: valueIn(row) }))
    .toSorted((a, b) => {
      if (a.value === undefined || b.value === undefined)
        return Number(a.value === undefined) - Number(b.value === undefined);
      return sign * compare(a.value, b.value);
    })
    .map(({ row }) => row);
}

function compare(one: number | string, other: number | string): number {
  return typeof one === 'number' && typeof other === 'number' ? one - other : words.compare(String(one), String(other));
}
