// The rules in view: the filters and the page of them that the API is asked for, again and again, as the viewer scrolls.
import { useCallback, useRef, useState } from 'preact/hooks';
import { type Load, useLoad } from '../../load.ts';
import type { RuleListing } from './rule.ts';

const everyMs = 1_000;
/** Of a page: more than a high window shows. */
const pageLength = 100;
/** The number of rows before those in view that are loaded, too. */
const leadRows = 30;

/** The parameters of the API by those of the address that have another name. */
const named: Readonly<Record<string, string>> = { q: 'search', show: 'state' };

/** A page of the rules with the filters that it was asked for with. */
export interface ListedRules {
  readonly filter: string;
  readonly listing: RuleListing;
}

export interface Listed extends Load<ListedRules> {
  /** The rows in view have changed: from `first` on, before `last`. */
  readonly onView: (first: number, last: number) => void;
}

/** The API's query for this query of the address. */
export function apiFilter(query: URLSearchParams, names: readonly string[]): string {
  const given = names.flatMap((name) => {
    const value = query.get(name) ?? '';
    return value === '' ? [] : [[named[name] ?? name, value]];
  });
  return new URLSearchParams(given).toString();
}

/** Until a page has come, the one before it stays, so that nothing flickers while the viewer scrolls or types. */
export function useListed(filter: string): Listed {
  const [view, setView] = useState({ filter, offset: 0 });
  const offset = view.filter === filter ? view.offset : 0;
  const page = new URLSearchParams([
    ...new URLSearchParams(filter),
    ['limit', String(pageLength)],
    ['offset', String(offset)],
  ]);
  const load = useLoad<RuleListing>(`/admin/rate-limits?${page}`, everyMs);
  const last = useRef<ListedRules>(undefined);
  if (load.body !== undefined) last.current = { filter, listing: load.body };
  const onView = useCallback(
    (first: number, end: number): void => {
      // The rows of other filters say nothing of where these begin.
      if (last.current?.filter !== filter) return;
      setView((before) => {
        const shown = before.filter === filter ? before.offset : 0;
        const isThere = first >= shown && end <= shown + pageLength;
        return isThere ? before : { filter, offset: Math.max(0, first - leadRows) };
      });
    },
    [filter],
  );
  const isOld = load.body === undefined && load.error !== undefined && last.current?.filter !== filter;
  return { ...load, body: isOld ? undefined : last.current, onView };
}
