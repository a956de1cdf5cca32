// The table of mirrors: how another model answers the same requests, beside the one that clients are answered by.
import { compact, dollars, latency, plural, share } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { type Column, Table } from '../../parts/table.ts';

export interface MirroredAnswers {
  readonly model: string;
  readonly success_rate: number;
  readonly duration_p50_ns?: number;
  readonly duration_p95_ns?: number;
  readonly first_byte_p50_ns?: number;
  readonly first_byte_p95_ns?: number;
  readonly output_tokens: number;
  readonly total_cost: number | null;
  readonly unpriced_requests: number;
}

export interface MirrorPair {
  readonly alias: string;
  readonly requests: number;
  readonly primary: MirroredAnswers;
  readonly mirror: MirroredAnswers;
  readonly compared: number;
  readonly similarity?: number;
}

export interface MirrorListing {
  readonly mirrors: readonly MirrorPair[];
  readonly truncated: boolean;
}

export const mirrorsPath = '/admin/mirrors?days=30';

/** A line for each of the two models. */
function both(of: MirrorPair, cell: (answers: MirroredAnswers) => View | string): View {
  return html`<div class="pair"><span>${cell(of.primary)}</span><span>${cell(of.mirror)}</span></div>`;
}

function times(p50: number | undefined, p95: number | undefined): View | string {
  if (p50 === undefined || p95 === undefined) return '–';
  return html`${latency(p50)} <span class="quiet small" title="95 of 100 answers were faster">p95 ${latency(p95)}</span>`;
}

/** Whether the other model is cheaper, where both have prices. */
function saving({ primary, mirror }: MirrorPair): string {
  const [one, other] = [primary.total_cost, mirror.total_cost];
  if (!one || other === null || primary.unpriced_requests + mirror.unpriced_requests > 0) return '';
  const less = 1 - other / one;
  return less >= 0 ? `${share(less)} less` : `${share(-less)} more`;
}

const columns: readonly Column<MirrorPair>[] = [
  {
    title: 'Alias',
    width: '15%',
    sort: ({ alias }) => alias,
    cell: ({ alias, requests }) => html`<div class="pair"><span class="name" title=${alias}>${alias}</span>
      <span class="quiet small">${plural(requests, 'request')}</span></div>`,
  },
  {
    title: 'Models',
    width: '23%',
    sort: ({ mirror }) => mirror.model,
    cell: ({
      primary,
      mirror,
    }) => html`<div class="pair"><span class="lead-name" title=${`${primary.model} answers clients`}>${primary.model}</span>
      <span class="lead-name" title=${`${mirror.model} gets copies`}>${mirror.model} <span class="quiet small">mirror</span></span></div>`,
  },
  {
    title: 'Succeeded',
    width: '10%',
    isLargestFirst: true,
    sort: ({ mirror }) => mirror.success_rate,
    cell: (of) => both(of, ({ success_rate: rate }) => share(rate)),
  },
  {
    title: 'First byte',
    width: '15%',
    sort: ({ mirror }) => mirror.first_byte_p50_ns,
    cell: (of) => both(of, ({ first_byte_p50_ns: p50, first_byte_p95_ns: p95 }) => times(p50, p95)),
  },
  {
    title: 'Whole answer',
    width: '15%',
    sort: ({ mirror }) => mirror.duration_p50_ns,
    cell: (of) => both(of, ({ duration_p50_ns: p50, duration_p95_ns: p95 }) => times(p50, p95)),
  },
  {
    title: 'Cost',
    width: '13%',
    isLargestFirst: true,
    sort: ({ primary }) => primary.total_cost ?? undefined,
    cell: (
      of,
    ) => html`<div class="pair"><span title=${`${compact(of.primary.output_tokens)} tokens of answers`}>${dollars(of.primary.total_cost)}</span>
      <span title=${`${compact(of.mirror.output_tokens)} tokens of answers`}>${dollars(of.mirror.total_cost)} <span class="quiet small">${saving(of)}</span></span></div>`,
  },
  {
    title: 'Similarity',
    width: '9%',
    isLargestFirst: true,
    sort: ({ similarity }) => similarity,
    cell: ({ similarity, compared }) =>
      similarity === undefined
        ? html`<span class="quiet" title="There is no model of embeddings, or no answer was compared by its meaning">–</span>`
        : html`<div class="pair"><span title="Mean cosine of the embeddings of both answers; 1: they mean the same">${similarity.toFixed(2)}</span>
            <span class="quiet small">of ${compact(compared)}</span></div>`,
  },
];

export function Mirrors({ mirrors, truncated }: MirrorListing): View {
  if (mirrors.length === 0)
    return html`<p class="note small">No request was copied in the last 30 days. A copy is sent once its client is answered.</p>`;
  return html`${truncated && html`<p class="note small">Of the newest 20,000 requests.</p>`}
    <${Table} label="Mirrors" sort="sort-mirrors" columns=${columns} rows=${mirrors} keyOf=${({ alias, primary, mirror }: MirrorPair) => `${alias} ${primary.model} ${mirror.model}`} rowHeight=${60} minWidth="64rem" />`;
}
