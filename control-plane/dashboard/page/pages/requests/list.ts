// The list: conversations, single requests or changes, filtered, with those that come in put on top as they do.
import { useEffect, useMemo, useState } from 'preact/hooks';
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
import { FirstRequest } from '../playground/first-request.ts';
import { CsvButton } from '../usage/csv-button.ts';
import { changeColumns, columns } from './columns.ts';
import { type Entry, type EntryPage, type EntryRow, newestFirst, type SessionPage } from './entry.ts';
import { apiQuery, fields, filterOf, type Listing, listingOf, moreFields } from './filters.ts';

const pageLength = 100;
/** The most entries that are kept while new ones come in. */
const mostRows = 2_000;

export function RequestList(): View {
  const { query } = useCell(place);
  const listing = listingOf(query);
  const offset = Math.max(0, Number(query.get('offset')) || 0);
  const asked = apiQuery(query);
  const filter = asked.toString();
  const ofKind = new URLSearchParams([...asked, ['kind', listing === 'changes' ? 'change' : 'call']]);
  const page = new URLSearchParams([...ofKind, ['limit', String(pageLength)], ['offset', String(offset)]]);
  const list = useLoad<SessionPage | EntryPage>(
    `/admin/audit/${listing === 'conversations' ? 'sessions' : 'log'}?${page}`,
  );
  const isLive = query.get('live') !== 'off' && offset === 0 && !query.has('end_date');
  const fresh = useFresh(query, `${listing} ${filter}`, isLive, list);
  return html`<div class="page-head">
      <h1>Requests</h1>
      <div class="buttons">
        <${Switcher} listing=${listing} />
        <${CsvButton} path="/admin/audit/log" query=${ofKind} />
        <button aria-pressed=${isLive} disabled=${offset > 0} onClick=${() => setQuery({ live: isLive ? 'off' : undefined }, 'live')}>
          <span class=${isLive ? 'pulse on' : 'pulse'} aria-hidden="true"></span>${isLive ? 'Live' : 'Paused'}
        </button>
      </div>
    </div>
    <${FilterForm} fields=${fields} label="Filter requests" />
    <${MoreFilters} fields=${moreFields} label="More filters of requests" />
    <${Loaded} of=${list} what="requests">
      ${(body: SessionPage | EntryPage) => html`<${Rows} page=${body} fresh=${fresh} listing=${listing} isFiltered=${filter !== ''} isSorted=${query.has('sort')} />`}
    </${Loaded}>`;
}

const listings: readonly (readonly [listing: Listing, text: string])[] = [
  ['conversations', 'Conversations'],
  ['requests', 'Single requests'],
  ['changes', 'Changes'],
];

function Switcher({ listing }: { readonly listing: Listing }): View {
  const query = Object.fromEntries(place.value.query);
  const to = (view: Listing): string =>
    linkTo('/requests', {
      ...query,
      view: view === 'conversations' ? undefined : view,
      offset: undefined,
      sort: undefined,
    });
  return html`<div class="switcher" role="group" aria-label="Show">
    ${listings.map(([each, text]) => html`<a key=${each} href=${to(each)} aria-current=${each === listing ? 'true' : undefined}>${text}</a>`)}
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
  readonly listing: Listing;
  readonly isFiltered: boolean;
  readonly isSorted: boolean;
}

function Rows({ page, fresh, listing, isFiltered, isSorted }: RowsProps): View {
  const { rows, added } = useMemo(
    () => ('sessions' in page ? threadsOf(page, fresh) : entriesOf(page, fresh)),
    [page, fresh],
  );
  if (rows.length === 0)
    return html`<${NoRows} listing=${listing} isFiltered=${isFiltered} isBeyond=${page.offset > 0} />`;
  const total = page.total + added;
  const noun = nouns[listing];
  const last = page.offset + rows.length;
  return html`<div class="page-line">
      <p class="quiet small">${
        rows.length >= total
          ? plural(total, noun)
          : `${count(page.offset + 1)} to ${count(last)} of ${plural(total, noun)}${isSorted ? `; these ${count(rows.length)} are sorted` : ''}`
      }</p>
      <div class="buttons">
        ${page.offset > 0 && html`<button class="row" onClick=${() => setQuery({ offset: String(page.offset - pageLength) })}>Newer</button>`}
        ${page.offset + pageLength < page.total && html`<button class="row" onClick=${() => setQuery({ offset: String(page.offset + pageLength) })}>Older</button>`}
      </div>
    </div>
    <${Table} label=${listing === 'changes' ? 'Changes' : 'Requests'} columns=${listing === 'changes' ? changeColumns : columns} rows=${rows} keyOf=${({ entry }: EntryRow) => entry.id} rowHeight=${50} total=${total} />`;
}

const nouns: Readonly<Record<Listing, string>> = {
  conversations: 'conversation',
  requests: 'request',
  changes: 'change',
};

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

interface NoRowsProps {
  readonly listing: Listing;
  readonly isFiltered: boolean;
  readonly isBeyond: boolean;
}

function NoRows({ listing, isFiltered, isBeyond }: NoRowsProps): View {
  if (isBeyond)
    return html`<${Empty} title="The list ends before this page."><a href=${linkTo('/requests')}>Go to the newest requests</a></${Empty}>`;
  if (isFiltered)
    return html`<${Empty} title=${`No ${listing === 'changes' ? 'change' : 'request'} matches the filters.`}><p>Clear some of them, or look further back. What matches from now on appears here by itself.</p></${Empty}>`;
  if (listing === 'changes')
    return html`<${Empty} title="Nothing was changed in this time."><p>What operators set or delete, and each reload of the configuration, is listed here, with who did it.</p></${Empty}>`;
  return html`<${Empty} title="There are no requests yet.">
    <p>Each request appears here within a second. With <code>audit.enabled: false</code> in the configuration none is recorded.</p>
    <${FirstRequest} />
  </${Empty}>`;
}
