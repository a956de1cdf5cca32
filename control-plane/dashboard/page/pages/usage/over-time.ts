// Usage over time: what each hour, day or month has cost and used.
import { useMemo } from 'preact/hooks';
import { compact, dollars } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Plot } from '../../parts/plot.ts';
import { parseTime, startOfDay } from '../../time.ts';
import type { UsageRow } from './sums.ts';

export function OverTime({ rows }: { readonly rows: readonly UsageRow[] }): View {
  const { times, costs, tokens } = useMemo(() => seriesOf(rows), [rows]);
  return html`<div class="grid">
    <section class="card"><${Plot} title="Cost" times=${times} series=${costs} format=${dollars} /></section>
    <section class="card"><${Plot} title="Tokens" times=${times} series=${tokens} format=${compact} /></section>
  </div>`;
}

function seriesOf(rows: readonly UsageRow[]) {
  const valuesOf = (pick: (row: UsageRow) => number): number[] => rows.map(pick);
  return {
    times: rows.map(({ date = '' }) => timeOf(date)),
    costs: [{ label: 'Cost', color: 'c', values: valuesOf(({ total_cost }) => total_cost ?? 0) }],
    tokens: [
      { label: 'In', color: 'a', values: valuesOf(({ input_tokens }) => input_tokens) },
      { label: 'Out', color: 'b', values: valuesOf(({ output_tokens }) => output_tokens) },
    ],
  };
}

/** Of `2030-01-31`, `2030-01`, or the start of an hour. */
export function timeOf(date: string): number {
  if (date.includes('T')) return parseTime(date);
  return startOfDay(date.length === 7 ? `${date}-01` : date);
}
