// Usage over time: what each minute, hour or day has cost and used.
import { useMemo } from 'preact/hooks';
import { compact, dollars } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Plot, type Series } from '../../parts/plot.ts';
import { momentOf, type TimeRange, wordOf } from '../../parts/time-range.ts';
import type { UsageRow } from './sums.ts';

interface OverTimeProps {
  readonly rows: readonly UsageRow[];
  readonly range: TimeRange;
}

export function OverTime({ rows, range }: OverTimeProps): View {
  const { costs, requests, tokens } = useMemo(() => seriesOf(range, rows), [range]);
  const plot = (title: string, series: readonly Series[], format: (value: number) => string): View =>
    html`<section class="card"><${Plot} title=${title} note=${`each ${wordOf[range.interval]}`} times=${range.times} series=${series} format=${format} /></section>`;
  return html`<div class="grid">
    ${plot('Cost', costs, dollars)}${plot('Requests', requests, compact)}${plot('Tokens', tokens, compact)}
  </div>`;
}

/** Times without usage have none. */
function seriesOf({ times }: TimeRange, rows: readonly UsageRow[]) {
  const byTime = new Map(rows.map((row) => [momentOf(row.date ?? ''), row]));
  const valuesOf = (pick: (row: UsageRow) => number): number[] =>
    times.map((time) => {
      const row = byTime.get(time);
      return row === undefined ? 0 : pick(row);
    });
  return {
    costs: [{ label: 'US dollars', color: 'd', values: valuesOf(({ total_cost }) => total_cost ?? 0) }],
    requests: [{ label: 'Requests', color: 'a', values: valuesOf((row) => row.requests) }],
    tokens: [
      { label: 'Input', color: 'b', values: valuesOf(({ input_tokens }) => input_tokens) },
      { label: 'Output', color: 'c', values: valuesOf(({ output_tokens }) => output_tokens) },
    ],
  } satisfies Record<string, readonly Series[]>;
}
