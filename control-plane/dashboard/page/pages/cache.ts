// The page of the response cache: how often it answers, what that has saved, what it holds, and forgetting it.
import { useMemo, useState } from 'preact/hooks';
import { compact, count, dollars, plural, share } from '../format.ts';
import { html, type View } from '../html.ts';
import { type Load, useLoad } from '../load.ts';
import { Badge } from '../parts/badge.ts';
import { ForRole } from '../parts/for-role.ts';
import { Plot } from '../parts/plot.ts';
import { Empty, Loaded } from '../parts/states.ts';
import { type Column, Table } from '../parts/table.ts';
import { TimeText } from '../parts/time-text.ts';
import { YamlText } from '../parts/yaml-text.ts';
import { dayStarts, dayText, nowMs } from '../time.ts';
import { type CacheState, type Counts, hitRatio, scopeWords, size } from './cache/cache-state.ts';
import { ClearDialog } from './cache/clear-dialog.ts';

interface Day {
  readonly date: string;
  readonly requests: number;
  readonly total_tokens: number;
}

const days = 7;
const switchedOn = 'cache:\n  enabled: true\n';

export function view(): View {
  const cache = useLoad<CacheState>('/admin/cache', 2_000);
  const usage = useLoad<readonly Day[]>(`/admin/usage/daily?days=${days}&cache_mode=cached`, 15_000);
  const [isClearing, setClearing] = useState(false);
  const done = (): void => {
    setClearing(false);
    cache.reload();
  };
  return html`<div class="page-head">
      <h1>Cache</h1>
      <${ForRole} needs="operator"><div class="buttons"><button class="danger" onClick=${() => setClearing(true)}>Forget answers</button></div></${ForRole}>
    </div>
    <${Loaded} of=${cache} what="cache">${(body: CacheState) => html`<${Body} of=${body} usage=${usage} />`}</${Loaded}>
    ${isClearing && html`<${ClearDialog} onDone=${done} onClose=${() => setClearing(false)} />`}`;
}

function Body({ of, usage }: { readonly of: CacheState; readonly usage: Load<readonly Day[]> }): View {
  const { settings, hits, saved_tokens, saved_cost, entries, bytes, endpoints, proxies } = of;
  const asked = hits + of.misses + of.bypasses;
  if (!settings.enabled && asked === 0)
    return html`<section class="card"><${Empty} title="The cache is off.">
      <p>When it is on, a request that is equal to an earlier one gets its answer again, without asking a provider. Put this into the configuration:</p>
      <${YamlText} text=${switchedOn} />
    </${Empty}></section>`;
  const ratio = hitRatio(of);
  return html`${!settings.enabled && html`<p class="note warning">The cache is off now; these are the figures from before.</p>`}
    <dl class="tiles">
      <${Tile} name="Hit ratio" value=${ratio === undefined ? '–' : share(ratio)} note=${`${compact(hits)} of ${compact(hits + of.misses)} requests`} />
      <${Tile} name="Tokens saved" value=${compact(saved_tokens)} note="since the start" />
      <${Tile} name="Cost saved" value=${dollars(saved_cost)} note="where priced" />
      <${Tile} name="Answers kept" value=${compact(entries)} note=${`${size(bytes)} of ${settings.max_bytes}`} />
      <${Tile} name="Passed by" value=${compact(of.bypasses)} note="not cacheable" />
    </dl>
    <div class="grid">
      <section class="card"><${OverDays} usage=${usage} /></section>
      <section class="card"><h2>Settings</h2><${Settings} of=${of} /></section>
    </div>
    <section class="section"><h2>Endpoints</h2>
      ${endpoints.length === 0 ? html`<${Empty} title="No request was looked up yet." />` : html`<${Table} label="Endpoints" sort="sort-endpoints" columns=${endpointColumns} rows=${endpoints} keyOf=${({ endpoint }: Counts & { endpoint: string }) => endpoint} rowHeight=${36} minWidth="32rem" />`}
    </section>
    <section class="section"><h2>Proxies</h2>
      <${Table} label="Proxies" columns=${proxyColumns} rows=${proxies} keyOf=${({ instance }: ProxyRow) => instance} rowHeight=${36} minWidth="40rem" />
    </section>`;
}

function OverDays({ usage }: { readonly usage: Load<readonly Day[]> }): View {
  const rows = usage.body;
  const [times, requests] = useMemo(() => {
    const known = new Map((rows ?? []).map(({ date, requests: number }) => [date, number]));
    const now = nowMs();
    const starts = dayStarts(dayText(now - (days - 1) * 86_400_000), dayText(now));
    return [starts, starts.map((start) => known.get(dayText(start)) ?? 0)];
  }, [rows]);
  return html`<${Loaded} of=${usage} what="answers of the cache">${() =>
    requests.every((number) => number === 0)
      ? html`<h2>Answers of the cache</h2><${Empty} title=${`None in ${days} days.`}><p>Usage records say it, so they must be switched on.</p></${Empty}>`
      : html`<${Plot} title=${`Answers of the cache, ${days} days`} times=${times} series=${[{ label: 'Requests', values: requests, color: 'a' }]} format=${compact} />`}</${Loaded}>`;
}

function Settings({ of: { settings, evicted, dropped } }: { readonly of: CacheState }): View {
  const { engine, ttl, scope, endpoints, max_entry_bytes, only_deterministic, share_concurrent, without } = settings;
  return html`<dl class="facts">
    <dt>Engine</dt><dd>${engine === 'redis' ? 'Redis, for all proxies' : 'Memory of each proxy'}</dd>
    <dt>Time to live</dt><dd>${ttl}</dd>
    <dt>Who gets an answer</dt><dd>${scopeWords[scope]}</dd>
    <dt>Endpoints</dt><dd>${endpoints.join(', ')}</dd>
    <dt>Longest answer</dt><dd>${max_entry_bytes}</dd>
    <dt>Requests</dt><dd>${only_deterministic ? 'Only those with temperature 0 or a seed' : 'Equal ones'}${share_concurrent && ', also while the first is under way'}</dd>
    ${without.length > 0 && html`<dt>Without cache</dt><dd>${without.map((path) => html`<${Badge} key=${path}>${path}</${Badge}> `)}</dd>`}
    <dt>Gone early</dt><dd>${count(evicted)} to make room, ${count(dropped)} not kept</dd>
  </dl>`;
}

interface TileProps {
  readonly name: string;
  readonly value: string;
  readonly note: string;
}

function Tile({ name, value, note }: TileProps): View {
  return html`<div class="tile"><dt>${name}</dt><dd>${value} <span class="small quiet">${note}</span></dd></div>`;
}

const countColumns: readonly Column<Counts>[] = [
  { title: 'Hits', isNumber: true, sort: ({ hits }) => hits, cell: ({ hits }) => compact(hits) },
  { title: 'Misses', isNumber: true, sort: ({ misses }) => misses, cell: ({ misses }) => compact(misses) },
  { title: 'Passed by', isNumber: true, sort: ({ bypasses }) => bypasses, cell: ({ bypasses }) => compact(bypasses) },
  { title: 'Hit ratio', isNumber: true, sort: hitRatio, cell: (row) => ratioText(row) },
];

function ratioText(row: Counts): string {
  const ratio = hitRatio(row);
  return ratio === undefined ? '–' : share(ratio);
}

const endpointColumns: readonly Column<Counts & { readonly endpoint: string }>[] = [
  {
    title: 'Endpoint',
    sort: ({ endpoint }) => endpoint,
    cell: ({ endpoint }) => html`<span class="name">${endpoint}</span>`,
  },
  ...countColumns,
];

type ProxyRow = CacheState['proxies'][number];

const proxyColumns: readonly Column<ProxyRow>[] = [
  {
    title: 'Proxy',
    sort: ({ instance }) => instance,
    cell: ({ instance }) => html`<span class="name">${instance}</span>`,
  },
  ...countColumns,
  {
    title: 'Holds',
    isNumber: true,
    sort: ({ bytes }) => bytes,
    cell: ({ entries, bytes }) => `${plural(entries, 'answer')}, ${size(bytes)}`,
  },
  {
    title: 'Since',
    sort: ({ started_at }) => started_at,
    cell: ({ started_at }) => html`<${TimeText} at=${started_at} />`,
  },
];
