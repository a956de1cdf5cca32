// Where the viewer is: the address below the dashboard. Links are real links, so that addresses can be copied, sent and opened in a tab.
import { Cell } from './cell.ts';

export const base = '/admin/dashboard';

export interface PageAddress {
  /** Below the dashboard: `/`, `/rate-limits`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** The place that is shown. */
export const place = new Cell<PageAddress>({ path: '/', query: new URLSearchParams() });

type Query = Readonly<Record<string, string | undefined>>;

/** The address of a place, for `href`. Empty values are left out. */
export function linkTo(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '') as [string, string][];
  const text = new URLSearchParams(given).toString();
  return `${base}${path === '/' ? '' : path}${text === '' ? '' : `?${text}`}`;
}

/** Goes to an address that `linkTo` gave. */
export function go(address: string): void {
  history.pushState(null, '', address);
  writing = undefined;
  read();
  window.scrollTo(0, 0);
}

/** What the newest entry of the history is about, while the viewer is at it. */
let writing: string | undefined;

/**
 * Changes parts of the query and stays on the page: a step that Back takes back. `what`: changes of the same thing that follow each other, such
 * as the letters of a field, are one step.
 */
export function setQuery(changes: Query, what?: string): void {
  const { path, query } = place.value;
  const address = linkTo(path, { ...Object.fromEntries(query.entries()), ...changes });
  if (address === linkTo(path, Object.fromEntries(query.entries()))) return;
  if (what !== undefined && what === writing) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  writing = what;
  read();
}

/** Begins to follow the address bar and the links of the document. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    writing = undefined;
    read();
  });
  document.addEventListener('click', (event) => {
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!isPlain || event.defaultPrevented || link === null || link.target !== '' || link.hasAttribute('download'))
      return;
    const { origin, pathname, search, hash } = new URL(link.href);
    if (origin !== location.origin || hash !== '' || !isBelow(pathname)) return;
    event.preventDefault();
    go(pathname + search);
  });
  read();
}

function isBelow(path: string): boolean {
  return path === base || path.startsWith(`${base}/`);
}

function read(): void {
  const below = location.pathname.slice(base.length).replace(/\/+$/, '');
  place.set({ path: below === '' ? '/' : below, query: new URLSearchParams(location.search) });
}
