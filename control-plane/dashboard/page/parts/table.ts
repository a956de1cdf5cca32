// A table that stays fast with ten thousand rows: only those in view are drawn, all of them are counted for screen readers.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html, type View } from '../html.ts';

export interface Column<Row> {
  readonly title: string;
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
}

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

export function Table<Row>(props: TableProps<Row>): View {
  const { label, columns, rows, keyOf, rowHeight = 44, markOf, minWidth, part } = props;
  const { offset = 0, length = rows.length, onView } = part ?? {};
  const { total = length } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const isWhole = length <= mostWhole;
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
  const first = isWhole ? 0 : Math.max(0, Math.min(Math.floor(view.top / rowHeight) - spareRows, length - 1));
  const last = isWhole ? length : Math.min(length, first + Math.ceil(view.height / rowHeight) + 2 * spareRows);
  useEffect(() => onView?.(first, last), [first, last, onView]);
  // Of those in view, the rows that are here.
  const begin = Math.min(Math.max(first, offset), last);
  const end = Math.max(begin, Math.min(last, offset + rows.length));
  const shown = rows.slice(begin - offset, end - offset);
  const space = (height: number): View =>
    height <= 0
      ? null
      : html`<tr class="space" aria-hidden="true"><td colspan=${columns.length} style=${{ height: `${height}px` }}></td></tr>`;
  return html`<div
    class=${isWhole ? 'table-scroll' : 'table-scroll windowed'}
    ref=${scroller}
    tabindex="0"
    role="region"
    aria-label=${label}
    onScroll=${isWhole ? undefined : look}
  >
    <table aria-rowcount=${total + 1} aria-label=${label} style=${minWidth === undefined ? undefined : { minWidth }}>
      <thead>
        <tr aria-rowindex="1">
          ${columns.map(
            ({ title, isNumber, width, isUntitled }) => html`<th
              scope="col"
              class=${isNumber ? 'number' : undefined}
              style=${width === undefined ? undefined : { width }}
              key=${title}
            >
              ${isUntitled ? html`<span class="unseen">${title}</span>` : title}
            </th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${space(begin * rowHeight)}
        ${shown.map(
          (row, index) => html`<tr
            key=${keyOf(row)}
            aria-rowindex=${begin + index + 2}
            class=${markOf?.(row)}
            style=${{ height: `${rowHeight}px` }}
          >
            ${columns.map(({ title, cell, isNumber }) => html`<td key=${title} class=${isNumber ? 'number' : undefined}>${cell(row)}</td>`)}
          </tr>`,
        )}
        ${space((length - end) * rowHeight)}
      </tbody>
    </table>
  </div>`;
}
