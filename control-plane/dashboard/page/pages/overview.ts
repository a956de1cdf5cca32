// The overview: what goes through the gateway, who causes it, and whether all is well.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { compact, dollars, latency, rate, share } from '../format.ts';
import { html, type View } from '../html.ts';
import { type Load, useLoad } from '../load.ts';
import { Plot, type Series } from '../parts/plot.ts';
import { Empty, Loaded } from '../parts/states.ts';
import { rangeOf, ranges, wordOf, ZoneNote } from '../parts/time-range.ts';
import { linkTo, place } from '../router.ts';
import { session } from '../session-state.ts';
import { Failing } from './overview/failing.ts';
import { Health } from './overview/health.ts';
import { type Stats, seriesOf, type UsageRow } from './overview/over-time.ts';
import { TopList, type TopRow } from './overview/top-list.ts';

const everyMs = 5_000;

interface Row extends UsageRow {
  readonly model?: string;
  readonly provider_name?: string;
  readonly user_path?: string;
}

export function view(): View {
  const { query } = useCell(place);
  const { who } = useCell(session);
  const isGiven = (value: string): boolean => `&${query}&`.includes(`&${value}&`);
  const asked = ranges.find(([value]) => isGiven(value))?.[0] ?? 'days=1';
  // As the other pages are asked, which show thirty days without being so.
  const back = asked === 'days=30' ? {} : Object.fromEntries(new URLSearchParams(asked));
  const { interval } = rangeOf(new URLSearchParams(asked));
  const stats = useLoad<Stats>(`/admin/audit/stats?${asked}`, everyMs);
  const usage = useLoad<UsageRow[]>(`/admin/usage/daily?${asked}&interval=${interval}`, everyMs);
  const consumers = useLoad<Row[]>(`/admin/usage/user-paths?${asked}`, everyMs);
  const models = useLoad<Row[]>(`/admin/usage/models?${asked}`, everyMs);
  const causes = html`<div class="grid">
      <${Top} of=${consumers} title="Consumers" what="consumers" nameOf=${({ user_path }: Row) => user_path}
        href=${linkTo('/usage', { by: 'user_path', ...back })} hrefOf=${(user_path: string) => linkTo('/usage', { user_path, by: 'model', ...back })} />
      <${Top} of=${models} title="Models" what="models" nameOf=${({ provider_name, model }: Row) => (provider_name === undefined ? model : `${provider_name}/${model}`)}
        href=${linkTo('/usage', { by: 'model', ...back })} hrefOf=${(model: string) => linkTo('/usage', { model, ...back })} />
      <${Providers} stats=${stats} models=${models} back=${back} />
    </div>`;
  return html`<div class="page-head">
      <h1>Overview</h1>
      <div class="switcher" role="group" aria-label="Time">
        ${ranges.map(([value, text]) => html`<a key=${value} href=${linkTo('/', Object.fromEntries(new URLSearchParams(value)))} aria-current=${value === asked ? 'true' : undefined}>${text}</a>`)}
      </div>
    </div>
    ${who?.scoped === false ? html`<${Health} />` : html`<${Failing} />`}
    <${Loaded} of=${stats} what="statistics">${(body: Stats) => html`<${Traffic} stats=${body} usage=${usage} asked=${asked} back=${back}>${causes}</${Traffic}>`}</${Loaded}>
    <${ZoneNote} />`;
}

interface TrafficProps {
  readonly stats: Stats;
  readonly usage: Load<UsageRow[]>;
  /** The time, as the API is asked. */
  readonly asked: string;
  readonly back: Back;
  /** Who and what causes it: between how much there is and how long it takes. */
  readonly children?: ComponentChildren;
}

/** How far back, as the other pages are asked. */
type Back = Readonly<Record<string, string>>;

function Traffic({ stats, usage, asked, back, children }: TrafficProps): View {
  const rows = usage.body;
  const range = useMemo(() => rangeOf(new URLSearchParams(asked)), [asked, stats, rows]);
  const series = useMemo(() => seriesOf(range, stats, rows ?? []), [range]);
  const { requests, refused, client_errors, server_errors } = stats.summary;
  const tokenSum = (rows ?? []).reduce((total, row) => total + row.total_tokens, 0);
  const errors = server_errors + client_errors - refused;
  const part = (number: number): string => (requests === 0 ? '' : share(number / requests));
  if (requests === 0)
    return html`<section class="card"><${Empty} title="No request in this time.">
      <p>Send one to any proxy, for example <code>POST /v1/chat/completions</code>, or look further back.</p>
    </${Empty}></section>`;
  const singles = { view: 'requests', ...back };
  const each = `each ${wordOf[range.interval]}`;
  const plot = (title: string, note: string, lines: readonly Series[], format: (value: number) => string): View =>
    html`<section class="card"><${Plot} title=${title} note=${note} times=${range.times} series=${lines} format=${format} /></section>`;
  return html`<dl class="tiles">
      <${Tile} name="Requests" href=${linkTo('/requests', singles)} value=${compact(requests)} note=${`${part(stats.summary.succeeded)} succeeded`} />
      <${Tile} name="Errors" href=${linkTo('/requests', { ...singles, error_type: 'error' })} value=${compact(errors)} note=${part(errors)} />
      <${Tile} name="Refused by limits" href=${linkTo('/requests', { ...singles, status_code: '429' })} value=${compact(refused)} note=${part(refused)} />
      <${Tile} name="Tokens" href=${linkTo('/usage', { by: 'model', ...back })} value=${rows === undefined ? '–' : compact(tokenSum)} />
      <${Tile} name="Cost" href=${linkTo('/usage', back)} value=${rows === undefined ? '–' : dollars(costOf(rows))} note=${costOf(rows ?? []) === null ? '' : unpriced(rows)} />
    </dl>
    <div class="grid">
      ${plot('Requests', 'a minute', series.rates, rate)}
      ${plot('Tokens', each, series.tokens, compact)}
      ${plot('Cost', each, series.costs, dollars)}
    </div>
    ${children}
    <div class="grid">
      ${plot('Duration', 'of those that succeeded', series.durations, latency)}
      ${plot('Time to first byte', 'of those that succeeded', series.firstBytes, latency)}
    </div>`;
}

function unpriced(rows: readonly UsageRow[] | undefined): string {
  const count = (rows ?? []).reduce((total, row) => total + row.unpriced_requests, 0);
  return count === 0 ? '' : `${compact(count)} without a price`;
}

interface TileProps {
  readonly name: string;
  /** Where what is behind it is listed. */
  readonly href: string;
  readonly value: string;
  readonly note?: string;
}

function Tile({ name, href, value, note }: TileProps): View {
  return html`<div class="tile"><dt><a href=${href}>${name}</a></dt><dd>${value} <span class="small quiet">${note}</span></dd></div>`;
}

interface TopProps {
  readonly of: Load<Row[]>;
  readonly title: string;
  readonly what: string;
  readonly nameOf: (row: Row) => string | undefined;
  /** Of the whole list, and of one entry. */
  readonly href: string;
  readonly hrefOf: (name: string) => string;
}

interface TopHeadProps {
  readonly href: string;
  readonly title: string;
  /** The meaning of the figures of each row. */
  readonly figures: string;
}

function TopHead({ href, title, figures }: TopHeadProps): View {
  return html`<div class="page-head"><h2><a href=${href}>${title}</a></h2><span class="quiet small">${figures}</span></div>`;
}

/** By requests, so that those without a price are there, too. */
function Top({ of, title, what, nameOf, href, hrefOf }: TopProps): View {
  const rowsOf = (rows: readonly Row[]): TopRow[] =>
    rows.map((row) => ({
      name: nameOf(row) ?? '',
      href: hrefOf(nameOf(row) ?? ''),
      size: row.requests,
      text: `${compact(row.requests)} · ${compact(row.total_tokens)} · ${dollars(row.total_cost)}`,
    }));
  return html`<section class="card"><${TopHead} href=${href} title=${title} figures="requests · tokens · cost" />
    <${Loaded} of=${of} what=${what}>${(rows: readonly Row[]) => html`<${TopList} rows=${rowsOf(rows)} what=${what} />`}</${Loaded}>
  </section>`;
}

/** Null: nothing of it has a price. */
function costOf(rows: readonly Row[]): number | null {
  const priced = rows.flatMap(({ total_cost }) => (total_cost === null ? [] : [total_cost]));
  return priced.length === 0 ? null : priced.reduce((total, cost) => total + cost, 0);
}

interface ProvidersProps {
  readonly stats: Load<Stats>;
  readonly models: Load<Row[]>;
  readonly back: Back;
}

function Providers({ stats, models, back }: ProvidersProps): View {
  const costs = Map.groupBy(models.body ?? [], ({ provider_name }) => provider_name ?? '');
  const rowsOf = ({ providers }: Stats): TopRow[] =>
    providers.map(({ provider_name: name, requests, mean_duration_ns }) => {
      const cost = costOf(costs.get(name) ?? []);
      return {
        name,
        href: linkTo('/requests', { view: 'requests', provider: name, ...back }),
        size: requests,
        text: `${compact(requests)} · ${latency(mean_duration_ns)} · ${dollars(cost)}`,
      };
    });
  return html`<section class="card"><${TopHead} href=${linkTo('/usage', { by: 'model', ...back })} title="Providers" figures="requests · mean duration · cost" />
    <${Loaded} of=${stats} what="providers">${(body: Stats) => html`<${TopList} rows=${rowsOf(body)} what="providers" />`}</${Loaded}>
  </section>`;
}
