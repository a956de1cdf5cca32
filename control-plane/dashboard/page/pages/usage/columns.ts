// The columns of the table of usage.
import { compact, count, dollars, plural, share } from '../../format.ts';
import { html, type View } from '../../html.ts';
import type { Column } from '../../parts/table.ts';
import { linkTo, place } from '../../router.ts';
import type { NamedSums } from './sums.ts';

interface Of {
  readonly row: NamedSums;
}

/** `title`: what the rows are for; `whole`: the cost of all of them, in US dollars. */
export function columnsFor(title: string, whole: number): readonly Column<NamedSums>[] {
  return [
    { title, width: '30%', sort: ({ name }) => name, cell: (row) => html`<${Name} row=${row} />` },
    { title: 'Share of the cost', width: '18%', cell: (row) => html`<${Share} row=${row} whole=${whole} />` },
    {
      title: 'Cost',
      isNumber: true,
      sort: ({ total_cost }) => total_cost ?? undefined,
      cell: (row) => html`<${Cost} row=${row} />`,
    },
    {
      title: 'Requests',
      isNumber: true,
      sort: ({ requests }) => requests,
      cell: ({ requests, attempts }) => html`<span title=${callsOf(requests, attempts)}>${compact(requests)}</span>`,
    },
    {
      title: 'Tokens in',
      isNumber: true,
      sort: ({ input_tokens }) => input_tokens,
      cell: (row) => html`<${Input} row=${row} />`,
    },
    {
      title: 'Tokens out',
      isNumber: true,
      sort: ({ output_tokens }) => output_tokens,
      cell: ({ output_tokens }) => html`<span title=${count(output_tokens)}>${compact(output_tokens)}</span>`,
    },
  ];
}

function callsOf(requests: number, attempts: number): string {
  return `${plural(requests, 'request')}, ${plural(attempts, 'call')} of providers`;
}

function Name({ row: { name, note, query } }: Of): View {
  const before = Object.fromEntries(place.value.query);
  return html`<div class="cell">
    <span title=${name}>${query === undefined ? html`<span class="name">${name}</span>` : html`<a class="name" href=${linkTo('/usage', { ...before, ...query })}>${name}</a>`}</span>
    ${note !== undefined && note !== '' && html`<span class="quiet small" title=${note}>${note}</span>`}
  </div>`;
}

function Share({ row: { total_cost }, whole }: Of & { readonly whole: number }): View {
  if (total_cost === null || whole <= 0) return html`<span class="quiet">–</span>`;
  const part = total_cost / whole;
  return html`<div class="share-cell">
    <div class="meter" aria-hidden="true"><div class="meter-fill" style=${{ width: `${(part * 100).toFixed(1)}%` }}></div></div>
    <span class="small">${share(part)}</span>
  </div>`;
}

function Cost({ row: { total_cost, unpriced_requests } }: Of): View {
  const title = unpriced_requests === 0 ? undefined : `${plural(unpriced_requests, 'usage record')} without a price`;
  return html`<span title=${title}>${dollars(total_cost)}${unpriced_requests > 0 && total_cost !== null ? '+' : ''}</span>`;
}

function Input({ row: { input_tokens, cached_input_tokens } }: Of): View {
  return html`<span title=${`${count(input_tokens)}, ${count(cached_input_tokens)} of them cached`}>${compact(input_tokens)}</span>`;
}
