// The page of usage: what was used and spent, by team, model, key, label and time; all of it as CSV too.

import { useMemo } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { compact, dollars, plural, share } from '../format.ts';
import { html, type View } from '../html.ts';
import { useLoad } from '../load.ts';
import { askedByField } from '../parts/asked-by-field.ts';
import { daysField } from '../parts/days-field.ts';
import { askedFor, type FilterField, FilterForm } from '../parts/filter-form.ts';
import { MoreFilters } from '../parts/more-filters.ts';
import { Empty, Loaded } from '../parts/states.ts';
import { Table } from '../parts/table.ts';
import { rangeOf, ZoneNote } from '../parts/time-range.ts';
import { linkTo, place } from '../router.ts';
import { session } from '../session-state.ts';
import { localTime, parseTime } from '../time.ts';
import { noteOfUnlisted } from './keys/key.ts';
import { StopButton } from './rate-limits/stop.ts';
import { columnsFor } from './usage/columns.ts';
import { CsvButton } from './usage/csv-button.ts';
import { OverTime } from './usage/over-time.ts';
import { byTeam, costliestFirst, type NamedSums, sumOf, type UsageRow } from './usage/sums.ts';

const everyMs = 10_000;

const filters: readonly FilterField[] = [
  daysField,
  { name: 'user_path', label: 'User path', placeholder: '/team-a', suggest: 'user_paths' },
  { name: 'model', label: 'Model', placeholder: 'openai/gpt-4o', suggest: 'models' },
  { name: 'provider', label: 'Provider', placeholder: 'openai', suggest: 'providers' },
  { name: 'label', label: 'Label', placeholder: 'batch', suggest: 'labels' },
];

const moreFilters: readonly FilterField[] = [
  { name: 'start_date', label: 'From', type: 'date' },
  { name: 'end_date', label: 'To', type: 'date' },
  {
    name: 'cache_mode',
    label: 'Cache',
    options: [
      ['', 'Calls of providers'],
      ['cached', 'Answers of the cache'],
      ['all', 'Both'],
    ],
  },
  askedByField,
];

interface Way {
  readonly by: string;
  /** In the switcher. */
  readonly text: string;
  /** Of the first column. */
  readonly title: string;
  /** Below /admin/usage. */
  readonly path: string;
}

const ways: readonly Way[] = [
  { by: 'team', text: 'Teams', title: 'Team', path: 'user-paths' },
  { by: 'user_path', text: 'User paths', title: 'User path', path: 'user-paths' },
  { by: 'model', text: 'Models', title: 'Model', path: 'models' },
  { by: 'key', text: 'Keys', title: 'Key', path: 'keys' },
  { by: 'label', text: 'Labels', title: 'Label', path: 'labels' },
  { by: 'day', text: 'Days', title: 'Day', path: 'daily' },
];
const [team] = ways as [Way];

export function view(): View {
  const { query } = useCell(place);
  const way = ways.find(({ by }) => by === query.get('by')) ?? team;
  const asked = askedFor([...filters, ...moreFilters], query);
  const times = new URLSearchParams([...asked, ['interval', rangeOf(asked).interval]]);
  const overTime = useLoad<UsageRow[]>(`/admin/usage/daily?${times}`, everyMs);
  const path = `/admin/usage/${way.path}`;
  const rows = useLoad<UsageRow[]>(`${path}?${asked}`, everyMs);
  const to = (by: string): string =>
    linkTo('/usage', { ...Object.fromEntries(query), by: by === 'team' ? undefined : by });
  const userPath = query.get('user_path') ?? '';
  return html`<div class="page-head"><h1>Usage</h1>${userPath !== '' && html`<${About} userPath=${userPath} />`}</div>
    <${FilterForm} fields=${filters} label="Filter usage" />
    <${MoreFilters} fields=${moreFilters} label="More filters of usage" />
    <${Loaded} of=${overTime} what="usage">${(body: UsageRow[]) => html`<${Totals} rows=${body} asked=${asked} />`}</${Loaded}>
    <div class="page-head">
      <div class="switcher wide" role="group" aria-label="Sums for each">
        ${ways.map(({ by, text }) => html`<a key=${by} href=${to(by)} aria-current=${by === way.by ? 'true' : undefined}>${text}</a>`)}
      </div>
      <div class="buttons"><${CsvButton} path=${path} query=${asked} /></div>
    </div>
    <${Loaded} of=${rows} what="rows">${(body: UsageRow[]) => html`<${Rows} rows=${body} way=${way} parent=${query.get('user_path')} />`}</${Loaded}>
    <${ZoneNote} />`;
}

/** What can be looked at and done about a user path. */
function About({ userPath }: { readonly userPath: string }): View {
  const { days, minutes } = Object.fromEntries(place.value.query);
  return html`<div class="buttons">
    <a class="button" href=${linkTo('/requests', { view: 'requests', user_path: userPath, days, minutes })}>Requests</a>
    <a class="button" href=${linkTo('/rate-limits', { covers: userPath })}>Rate limits</a>
    <${StopButton} userPath=${userPath} />
  </div>`;
}

interface TotalsProps {
  readonly rows: readonly UsageRow[];
  /** The query of the API. */
  readonly asked: URLSearchParams;
}

function Totals({ rows, asked }: TotalsProps): View {
  const { requests, attempts, total_tokens, input_tokens, cached_input_tokens, total_cost, unpriced_requests } =
    useMemo(() => sumOf(rows), [rows]);
  const range = useMemo(() => rangeOf(asked), [rows, asked.toString()]);
  if (requests + attempts === 0) return null;
  const cached = input_tokens === 0 ? 0 : cached_input_tokens / input_tokens;
  const tiles = [
    ['Cost', dollars(total_cost), unpriced_requests === 0 ? '' : `${compact(unpriced_requests)} without a price`],
    [
      'Requests',
      compact(requests),
      total_cost === null || requests === 0 ? '' : `${dollars(total_cost / requests)} each`,
    ],
    ['Calls of providers', compact(attempts), ''],
    ['Tokens', compact(total_tokens), ''],
    ['Input from caches', share(cached), ''],
  ] as const;
  return html`<dl class="tiles">
      ${tiles.map(([name, value, note]) => html`<div class="tile" key=${name}><dt>${name}</dt><dd>${value} <span class="small quiet">${note}</span></dd></div>`)}
    </dl>
    <${OverTime} rows=${rows} range=${range} />`;
}

interface RowsProps {
  readonly rows: readonly UsageRow[];
  readonly way: Way;
  /** The user path that the rows are below. */
  readonly parent: string | null;
}

function Rows({ rows, way, parent }: RowsProps): View {
  const { who } = useCell(session);
  const keys = useLoad<readonly { readonly id: string; readonly name: string }[]>(
    way.by === 'key' ? '/admin/auth-keys' : undefined,
  );
  const above = parent === null || parent === '' ? (who?.user_path ?? '/') : `/${parent.replace(/^\/+|\/+$/g, '')}`;
  const shown = useMemo(() => namedRows(rows, way, { above, keys: keys.body ?? [] }), [rows, way, above, keys.body]);
  const whole = useMemo(() => sumOf(rows).total_cost ?? 0, [rows]);
  const columns = useMemo(() => columnsFor(way.title, whole), [way, whole]);
  if (shown.length === 0)
    return html`<${Empty} title=${way.by === 'label' || way.by === 'key' ? `No usage of a ${way.by} in this time.` : 'No usage in this time.'}>
      <p>Look further back, or clear some filters. With <code>usage.enabled: false</code> in the configuration nothing is tracked.</p>
    </${Empty}>`;
  return html`<p class="quiet small">${plural(shown.length, way.title.toLowerCase())}${rows.length >= 10_000 ? '; there are more, and CSV has up to 100,000' : ''}${way.by === 'label' ? '; a request with two labels counts for both' : ''}${way.by === 'key' ? '; requests with the master key have no row' : ''}</p>
    <${Table} label=${`Usage by ${way.title.toLowerCase()}`} columns=${columns} rows=${shown} keyOf=${({ name, note = '' }: NamedSums) => `${name} ${note}`} rowHeight=${48} />`;
}

interface Names {
  readonly above: string;
  readonly keys: readonly { readonly id: string; readonly name: string }[];
}

function namedRows(rows: readonly UsageRow[], { by }: Way, { above, keys }: Names): NamedSums[] {
  if (by === 'team') return costliestFirst(byTeam(rows, above));
  if (by === 'day') return rows.map((row) => ({ ...row, name: dayName(row.date), ...dayQuery(row.date) })).toReversed();
  const names = new Map(keys.map(({ id, name }) => [id, name]));
  return rows.map((row): NamedSums => {
    const { user_path = '', model = '', provider_name = '', label = '', auth_key_id = '' } = row;
    if (by === 'model')
      return { ...row, name: model, note: provider_name, query: { model: `${provider_name}/${model}`, by: undefined } };
    if (by === 'label') return { ...row, name: label, query: { label, by: 'user_path' } };
    if (by === 'key')
      return {
        ...row,
        name: names.get(auth_key_id) ?? auth_key_id,
        note: names.has(auth_key_id) ? auth_key_id : noteOfUnlisted(auth_key_id),
      };
    return { ...row, name: user_path, query: { user_path, by: 'model' } };
  });
}

/** A day, or a minute where minutes are asked for. */
function dayName(date = ''): string {
  return date.includes('T') ? localTime(parseTime(date)) : date;
}

/** Of one minute there is no page. */
function dayQuery(date = ''): Pick<NamedSums, 'query'> {
  if (date.includes('T')) return {};
  return { query: { start_date: date, end_date: date, days: undefined, minutes: undefined, by: undefined } };
}
