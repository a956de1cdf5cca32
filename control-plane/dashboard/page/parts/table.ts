// A table that stays fast with ten thousand rows: only those in view are drawn, all of them are counted for screen readers. A narrow window
// shows each row as a card, a few dozen at a time. Rows are sorted by the column that the address names.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { html, type View } from '../html.ts';
import { narrow } from '../narrow.ts';
import { place } from '../router.ts';
import { orderIn, type Sortable, sorted } from './sorting.ts';
import { SortField, TableHead } from './table-head.ts';

export interface Column<Row> extends Sortable<Row> {
  readonly cell: (row: Row) => ComponentChildren;
  /** Right-aligned figures. */
  readonly isNumber?: boolean;
  /** CSS, such as `12rem`; absent: as wide as it likes. */
  readonly width?: string;
  /** The heading is for screen readers alone. */
  readonly isUntitled?: boolean;
}

export interface TableProps<Row> {
  /** The name of the rows, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Of every row, in pixels; what is higher is cut. */
  readonly rowHeight?: number;
  /** Classes of a row. */
  readonly markOf?: (row: Row) => string;
  /** CSS, such as `60rem`: what is narrower scrolls sideways. */
  readonly minWidth?: string;
  /** There are more rows than the list has. */
  readonly total?: number;
  /** `rows` are a part of what can be scrolled through. */
  readonly part?: TablePart;
  /** The parameter of the address that names the order. Default `sort`; tables of one page have different ones. */
  readonly sort?: string;
}

/** The API sorts such rows, as it is asked to. */
export interface TablePart {
  /** How many rows come before `rows`. */
  readonly offset: number;
  /** How many rows there are. */
  readonly length: number;
  /** Called with the rows in view, and those beside them, when they change: from `first` on, before `last`. */
  readonly onView: (first: number, last: number) => void;
}

/** The most rows that are drawn without a window. */
const mostWhole = 60;
/** Drawn above and below those in view, so that the keyboard finds the next one. */
const spareRows = 8;
/** Of a longer list, so many cards are drawn at a time. */
const mostCards = 30;

export function Table<Row>(props: TableProps<Row>): View {
  const { label, columns, keyOf, rowHeight = 44, markOf, minWidth, part, sort = 'sort' } = props;
  const { query } = useCell(place);
  const isNarrow = useCell(narrow);
  const order = orderIn(query.get(sort) ?? '', columns);
  const isPart = part !== undefined;
  const rows = useMemo(
    () => (isPart ? props.rows : sorted(props.rows, order)),
    [props.rows, isPart, order?.column, order?.isFalling],
  );
  const { offset = 0, length = rows.length, onView } = part ?? {};
  const { total = length } = props;
  const isWhole = length <= mostWhole;
  const scrolled = useWindow(rowHeight, length, isWhole);
  const cards = useCards(length);
  const [first, last] = isWhole ? [0, length] : isNarrow ? cards.shown : scrolled.shown;
  useEffect(() => onView?.(first, last), [first, last, onView]);
  // Of those in view, the rows that are here.
  const begin = Math.min(Math.max(first, offset), last);
  const end = Math.max(begin, Math.min(last, offset + rows.length));
  const space = (height: number): View =>
    isNarrow || height <= 0
      ? null
      : html`<tr class="space" aria-hidden="true"><td colspan=${columns.length} style=${{ height: `${height}px` }}></td></tr>`;
  const style = (name: string, value: string | undefined): object | undefined =>
    isNarrow || value === undefined ? undefined : { [name]: value };
  return html`${isNarrow && html`<${SortField} columns=${columns} order=${order} name=${sort} />`}
    <div
      class=${`table-scroll${isNarrow ? ' cards' : isWhole ? '' : ' windowed'}`}
      ref=${scrolled.scroller}
      tabindex=${isNarrow ? undefined : '0'}
      role="region"
      aria-label=${label}
      onScroll=${isWhole || isNarrow ? undefined : scrolled.look}
    >
      <table role="table" aria-rowcount=${total + 1} aria-label=${label} style=${style('minWidth', minWidth)}>
        <${TableHead} columns=${columns} order=${order} name=${sort} />
        <tbody role="rowgroup">
          ${space(begin * rowHeight)}
          ${rows.slice(begin - offset, end - offset).map(
            (row, index) => html`<tr
              role="row"
              key=${keyOf(row)}
              aria-rowindex=${begin + index + 2}
              class=${markOf?.(row)}
              style=${style('height', `${rowHeight}px`)}
            >
              ${columns.map(
                ({ title, cell, isNumber, isUntitled }) =>
                  html`<td role="cell" key=${title} class=${isNumber ? 'number' : undefined} data-title=${isUntitled ? undefined : title}>${cell(row)}</td>`,
              )}
            </tr>`,
          )}
          ${space((length - end) * rowHeight)}
        </tbody>
      </table>
    </div>
    ${isNarrow && !isWhole && html`<${CardPages} of=${cards} length=${length} label=${label} />`}`;
}

/** The rows that the scrolled part of the table shows, and some beside them. */
function useWindow(rowHeight: number, length: number, isWhole: boolean) {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const look = (): void => {
    const element = scroller.current;
    if (element !== null) setView({ top: element.scrollTop, height: element.clientHeight });
  };
  useLayoutEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    if (scroller.current !== null) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, [isWhole]);
  const first = Math.max(0, Math.min(Math.floor(view.top / rowHeight) - spareRows, length - 1));
  const last = Math.min(length, first + Math.ceil(view.height / rowHeight) + 2 * spareRows);
  return { scroller, look, shown: [first, last] as const };
}

interface Cards {
  /** From the first, before the second. */
  readonly shown: readonly [first: number, last: number];
  readonly turn: (by: 1 | -1) => void;
}

function useCards(length: number): Cards {
  const [asked, setPage] = useState(0);
  const page = Math.min(asked, Math.max(0, Math.ceil(length / mostCards) - 1));
  const first = page * mostCards;
  return { shown: [first, Math.min(length, first + mostCards)], turn: (by) => setPage(page + by) };
}

interface CardPagesProps {
  readonly of: Cards;
  readonly length: number;
  readonly label: string;
}

function CardPages({ of: { shown, turn }, length, label }: CardPagesProps): View {
  const [first, last] = shown;
  return html`<nav class="page-line small" aria-label=${`Pages of ${label.toLowerCase()}`}>
    <button class="row" disabled=${first === 0} onClick=${() => turn(-1)}>Before</button>
    <span class="quiet">${first + 1} to ${last} of ${length}</span>
    <button class="row" disabled=${last >= length} onClick=${() => turn(1)}>Next</button>
  </nav>`;
}
