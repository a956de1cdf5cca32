// The list: conversations or single requests, filtered, with those that come in put on top as they do.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useCell } from '../../cell.ts';
import { count, plural } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { useLive } from '../../live.ts';
import { type Load, useLoad } from '../../load.ts';
import { FilterForm } from '../../parts/filter-form.ts';
import { MoreFilters } from '../../parts/more-filters.ts';
import { Empty, Loaded } from '../../parts/states.ts';
import { Table } from '../../parts/table.ts';
import { linkTo, place, setQuery } from '../../router.ts';
import { columns } from './columns.ts';
import { type Entry, type EntryPage, type EntryRow, newestFirst, type SessionPage } from './entry.ts';
import { apiQuery, fields, filterOf, moreFields } from './filters.ts';

const pageLength = 100;
/** The most entries that are kept while new ones come in. */
const mostRows = 2_000;

export function RequestList(): View {
  const { query } = useCell(place);
  const isSingle = query.get('view') === 'requests';
  const offset = Math.max(0, Number(query.get('offset')) || 0);
  const asked = apiQuery(query);
  const filter = asked.toString();
  const page = new URLSearchParams([...asked, ['limit', String(pageLength)], ['offset', String(offset)]]);
  const list = useLoad<SessionPage | EntryPage>(`/admin/audit/${isSingle ? 'log' : 'sessions'}?${page}`);
  const isLive = query.get('live') !== 'off' && offset === 0 && !query.has('end_date');
  const fresh = useFresh(query, filter, isLive, list);
  const isFirst = useRef(true);
  // Another filter begins at its first page.
  useEffect(() => {
    if (!isFirst.current) setQuery({ offset: undefined });
    isFirst.current = false;
  }, [filter, isSingle]);
  return html`<div class="page-head">
      <h1>Requests</h1>
      <div class="buttons">
        <${Switcher} isSingle=${isSingle} />
        <button aria-pressed=${isLive} disabled=${offset > 0} onClick=${() => setQuery({ live: isLive ? 'off' : undefined })}>
          <span class=${isLive ? 'pulse on' : 'pulse'} aria-hidden="true"></span>${isLive ? 'Live' : 'Paused'}
        </button>
      </div>
    </div>
    <${FilterForm} fields=${fields} label="Filter requests" />
    <${MoreFilters} fields=${moreFields} label="More filters of requests" />
    <${Loaded} of=${list} what="requests">
      ${(body: SessionPage | EntryPage) => html`<${Rows} page=${body} fresh=${fresh} isFiltered=${filter !== ''} />`}
    </${Loaded}>`;
}

function Switcher({ isSingle }: { readonly isSingle: boolean }): View {
  const query = Object.fromEntries(place.value.query);
  const to = (view: string | undefined): string => linkTo('/requests', { ...query, view, offset: undefined });
  return html`<div class="switcher" role="group" aria-label="Show">
    <a href=${to(undefined)} aria-current=${isSingle ? undefined : 'true'}>Conversations</a>
    <a href=${to('requests')} aria-current=${isSingle ? 'true' : undefined}>Single requests</a>
  </div>`;
}

/** The entries since the list was read, the newest first. */
function useFresh(
  query: URLSearchParams,
  filter: string,
  isLive: boolean,
  { reload }: Load<unknown>,
): readonly Entry[] {
  const [fresh, setFresh] = useState<readonly Entry[]>([]);
  const matches = useMemo(() => filterOf(query), [filter]);
  useEffect(() => setFresh([]), [filter, isLive]);
  useLive<Entry>(
    {
      entry: (entry) => {
        if (matches(entry)) setFresh((before) => [entry, ...before].slice(0, mostRows));
      },
      // Entries between the list and the start of the stream are in neither.
      ready: reload,
      reset: () => {
        setFresh([]);
        reload();
      },
    },
    isLive,
  );
  return fresh;
}

interface RowsProps {
  readonly page: SessionPage | EntryPage;
  readonly fresh: readonly Entry[];
  readonly isFiltered: boolean;
}

function Rows({ page, fresh, isFiltered }: RowsProps): View {
  const { rows, added } = useMemo(
    () => ('sessions' in page ? threadsOf(page, fresh) : entriesOf(page, fresh)),
    [page, fresh],
  );
  if (rows.length === 0) return html`<${NoRows} isFiltered=${isFiltered} isBeyond=${page.offset > 0} />`;
  const total = page.total + added;
  const noun = 'sessions' in page ? 'conversation' : 'request';
  const last = page.offset + rows.length;
  return html`<div class="page-line">
      <p class="quiet small">${
        rows.length >= total
          ? plural(total, noun)
          : `${count(page.offset + 1)} to ${count(last)} of ${plural(total, noun)}`
      }</p>
      <div class="buttons">
        ${page.offset > 0 && html`<button class="row" onClick=${() => setQuery({ offset: String(page.offset - pageLength) })}>Newer</button>`}
        ${page.offset + pageLength < page.total && html`<button class="row" onClick=${() => setQuery({ offset: String(page.offset + pageLength) })}>Older</button>`}
      </div>
    </div>
    <${Table} label="Requests" columns=${columns} rows=${rows} keyOf=${({ entry }: EntryRow) => entry.id} rowHeight=${50} total=${total} />`;
}

interface Merged {
  readonly rows: readonly EntryRow[];
  /** How many of them the API did not count. */
  readonly added: number;
}

function entriesOf({ entries }: EntryPage, fresh: readonly Entry[]): Merged {
  const known = new Set(entries.map(({ id }) => id));
  const added = fresh.filter(({ id }) => !known.has(id));
  return {
    rows: newestFirst(
      [...added, ...entries].map((entry) => ({ entry })),
      mostRows,
    ),
    added: added.length,
  };
}

/** A conversation goes to the top with each request of it. */
function threadsOf({ sessions }: SessionPage, fresh: readonly Entry[]): Merged {
  const threads = new Map(
    sessions.map(({ latest, request_count }) => [threadOf(latest), { entry: latest, count: request_count }]),
  );
  let added = 0;
  for (const entry of fresh.toReversed()) {
    const known = threads.get(threadOf(entry));
    // The list has counted it already.
    if (known !== undefined && known.entry.timestamp >= entry.timestamp) continue;
    if (known === undefined) added += 1;
    threads.set(threadOf(entry), { entry, count: (known?.count ?? 0) + 1 });
  }
  return { rows: newestFirst([...threads.values()], mostRows), added };
}

function threadOf({ session_id, id }: Entry): string {
  return session_id ?? id;
}

function NoRows({ isFiltered, isBeyond }: { readonly isFiltered: boolean; readonly isBeyond: boolean }): View {
  if (isBeyond)
    return html`<${Empty} title="The list ends before this page."><a href=${linkTo('/requests')}>Go to the newest requests</a></${Empty}>`;
  if (isFiltered)
    return html`<${Empty} title="No request matches the filters."><p>Clear some of them, or look further back. What matches from now on appears here by itself.</p></${Empty}>`;
  return html`<${Empty} title="There are no requests yet.">
    <p>Send one to any proxy, for example <code>POST /v1/chat/completions</code>. It appears here within a second. With <code>audit.enabled: false</code> in the configuration none is recorded.</p>
  </${Empty}>`;
}
