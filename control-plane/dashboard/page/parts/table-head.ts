// The head of a table: a click on a column sorts by it. Where rows are cards, a field does.
import { useId } from 'preact/hooks';
import { html, type View } from '../html.ts';
import { setQuery } from '../router.ts';
import { fieldText } from './dialog.ts';
import { columnName, nextOrder, type Order, type Sortable } from './sorting.ts';

/** The members of a column that its head needs. */
interface HeadColumn extends Sortable<never> {
  readonly width?: string;
  readonly isUntitled?: boolean;
}

export interface TableHeadProps {
  readonly columns: readonly HeadColumn[];
  readonly order: Order<never> | undefined;
  /** The parameter of the address. */
  readonly name: string;
}

/** Clicks one after the other are one step back. */
function put(name: string, order: string | undefined): void {
  setQuery({ [name]: order, offset: undefined }, name);
}

export function TableHead({ columns, order, name }: TableHeadProps): View {
  return html`<thead role="rowgroup">
    <tr role="row" aria-rowindex="1">
      ${columns.map((column) => {
        const { title, isNumber, width, isUntitled, sort } = column;
        const isChosen = order?.column.title === title;
        const direction = isChosen ? (order.isFalling ? 'descending' : 'ascending') : undefined;
        const mark = isChosen ? (order.isFalling ? '↓' : '↑') : '';
        return html`<th
          role="columnheader"
          scope="col"
          key=${title}
          class=${isNumber ? 'number' : undefined}
          style=${width === undefined ? undefined : { width }}
          aria-sort=${direction}
        >
          ${
            isUntitled
              ? html`<span class="unseen">${title}</span>`
              : sort === undefined
                ? title
                : html`<button class="sort" onClick=${() => put(name, nextOrder(column, order))}>${title}<span class="sort-mark" aria-hidden="true">${mark}</span></button>`
          }
        </th>`;
      })}
    </tr>
  </thead>`;
}

export function SortField({ columns, order, name }: TableHeadProps): View {
  const id = useId();
  const options = columns.filter(({ sort }) => sort !== undefined);
  if (options.length === 0) return null;
  const chosen = order === undefined ? '' : `${order.isFalling ? '-' : ''}${columnName(order.column.title)}`;
  const both = options.flatMap(({ title }) => [
    [columnName(title), `${title}, rising`],
    [`-${columnName(title)}`, `${title}, falling`],
  ]);
  return html`<div class="field sort-field">
    <label for=${id}>Sort by</label>
    <select id=${id} value=${chosen} onChange=${(event: Event) => put(name, fieldText(event) || undefined)}>
      <option value="">As usual</option>
      ${both.map(([value, text]) => html`<option value=${value} key=${value}>${text}</option>`)}
    </select>
  </div>`;
}
