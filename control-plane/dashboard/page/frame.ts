// Around every page: navigation, who is logged in and what that may see, the theme, and what is wrong with the connection.
import type { FunctionComponent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useCell } from './cell.ts';
import { html, type View } from './html.ts';
import { type Page, pageOf, pages } from './pages.ts';
import { Badge } from './parts/badge.ts';
import { ConnectionBanner } from './parts/connection-banner.ts';
import { PinBanner } from './parts/pin-banner.ts';
import { ErrorNote, Loading } from './parts/states.ts';
import { WriteList } from './parts/writes.ts';
import { linkTo, place } from './router.ts';
import { logOut } from './session.ts';
import { session, type Who } from './session-state.ts';
import { chooseTheme, theme, themes } from './theme.ts';
import { zone } from './time.ts';

export function Frame(): View {
  const { path } = useCell(place);
  const { who } = useCell(session);
  const [isOpen, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const page = pageOf(path);
  useEffect(() => {
    document.title = `${page?.title ?? 'Not found'} · Model gateway`;
    setOpen(false);
    // A screen reader begins to read the new page; at the first one the browser has done so.
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [page]);
  if (who === undefined) return null;
  return html`<div class="frame">
    <a class="skip" href="#main">Skip to the page</a>
    <header class="side">
      <div class="side-head">
        <a class="brand" href=${linkTo('/')}>Model gateway</a>
        <button class="menu-button" aria-expanded=${isOpen} aria-controls="menu" onClick=${() => setOpen(!isOpen)}>Menu</button>
      </div>
      <div id="menu" class=${isOpen ? 'menu open' : 'menu'}>
        <${Navigation} current=${page} who=${who} />
        <${Viewer} who=${who} />
      </div>
    </header>
    <div class="body">
      <${ConnectionBanner} />
      <${PinBanner} who=${who} />
      <main id="main" ref=${main} tabindex="-1">
        <${Shown} key=${page?.path ?? path} page=${page} who=${who} />
      </main>
    </div>
    <${WriteList} />
  </div>`;
}

function Navigation({ current, who }: { readonly current: Page | undefined; readonly who: Who }): View {
  const seen = pages.filter((page) => maySee(page, who));
  const groups = [...new Set(seen.map(({ group }) => group))];
  return html`<nav aria-label="Pages">
    ${groups.map(
      (group) => html`<div class="nav-group" key=${group}>
        <p class="nav-title" id="nav-${group}">${group}</p>
        <ul aria-labelledby="nav-${group}">
          ${seen
            .filter((page) => page.group === group)
            .map(
              (page) => html`<li key=${page.path}>
                <a href=${linkTo(page.path)} aria-current=${page === current ? 'page' : undefined}>${page.title}</a>
              </li>`,
            )}
        </ul>
      </div>`,
    )}
  </nav>`;
}

const roleWords: Readonly<Record<Who['role'], string>> = {
  viewer: 'You see, and change nothing',
  operator: 'You see, and change limits, budgets, resets, the cache and targets',
  admin: 'You may do everything',
};

function Viewer({ who }: { readonly who: Who }): View {
  const chosen = useCell(theme);
  const name = who.kind === 'master_key' ? 'Master key' : (who.key_name ?? 'Nobody');
  return html`<section class="viewer" aria-label="You">
    ${
      who.kind === 'anonymous'
        ? html`<p class="small">This gateway runs without a master key, so there is no login.</p>`
        : html`<p class="small"><span class="quiet">Logged in as</span><br /><strong>${name}</strong> <${Badge} title=${roleWords[who.role]}>${who.role}</${Badge}></p>`
    }
    ${who.scoped && html`<p class="small scope">You see <code>${who.user_path}</code> and below.</p>`}
    <label class="small" for="theme">Theme</label>
    <select id="theme" value=${chosen} onChange=${(event: Event) => choose(event)}>
      ${themes.map((each) => html`<option value=${each} key=${each}>${each === 'auto' ? 'As the system' : each === 'light' ? 'Light' : 'Dark'}</option>`)}
    </select>
    ${who.kind !== 'anonymous' && html`<button onClick=${() => void logOut()}>Log out</button>`}
    <p class="small quiet">Times are of ${zone.replaceAll('_', ' ')}<br />Version ${who.version}</p>
  </section>`;
}

function choose({ currentTarget }: Event): void {
  const value = currentTarget instanceof HTMLSelectElement ? currentTarget.value : '';
  chooseTheme(themes.find((each) => each === value) ?? 'auto');
}

/** The page itself, once its module is there. */
function Shown({ page, who }: { readonly page: Page | undefined; readonly who: Who }): View {
  const [view, setView] = useState<FunctionComponent | undefined>(undefined);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    page?.load().then(
      ({ view: loaded }) => setView(() => loaded),
      () => setProblem('This page could not be loaded. The gateway may have been updated: reload the window.'),
    );
  }, [page]);
  if (page === undefined)
    return html`<h1>Not found</h1>
      <p>There is no such page. <a href=${linkTo('/')}>Go to the overview</a></p>`;
  if (!maySee(page, who))
    return html`<h1>${page.title}</h1>
      <p>This page shows the whole gateway; you see <code>${who.user_path}</code> and below.</p>`;
  if (problem !== '') return html`<h1>${page.title}</h1><${ErrorNote} message=${problem} />`;
  if (view === undefined) return html`<h1>${page.title}</h1><${Loading} what=${page.title.toLowerCase()} />`;
  return html`<${view} />`;
}

function maySee({ needs }: Page, { scoped }: Who): boolean {
  return needs === 'subtree' || !scoped;
}
