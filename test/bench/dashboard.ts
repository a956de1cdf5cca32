// `npm run bench -- --dashboard`: how long every page of the dashboard takes until real data is on screen, in a real browser.
import type { CDPSession, Page } from 'playwright-core';
import { startBrowser } from '../support/browser.ts';
import type { BothPlanes } from './both-planes.ts';
import { cpuBetweenMs, markCpu } from './cpu-time.ts';
import { explained, openWorld } from './dashboard-world.ts';
import type { Options } from './options.ts';
import { MASTER_KEY } from './processes.ts';
import { progress, type Session, say } from './session.ts';
import { median } from './statistics.ts';
import { renderTable } from './table.ts';

/** What a page may take to its first view. */
export const FIRST_VIEW_TARGET_MS = 500;

/** A page: its address below the dashboard, and what is on it once its first data is. */
type Shown = readonly [path: string, selector: string];

const row = (label: string): string => `table[aria-label="${label}"] tbody tr:not(.space)`;
const pages: readonly Shown[] = [
  ['', '.tiles .tile'],
  ['?days=30', '.tiles .tile'],
  ['/rate-limits', row('Rate limits')],
  ['/rate-limits?q=app-00042', row('Rate limits')],
  ['/budgets', row('Budgets')],
  [explained, '.verdict'],
  ['/requests', row('Requests')],
  ['/requests?view=requests', row('Requests')],
  ['/usage', row('Usage by team')],
  ['/usage?by=model', row('Usage by model')],
  ['/keys', row('Keys')],
  ['/models', row('Providers')],
  ['/config', '.tiles .tile'],
  ['/guardrails', row('Guardrails')],
  ['/cache', '.tiles .tile'],
];

/** A page of the dashboard that asks for nothing: it keeps the browser warm between two others. */
const restPath = '/nothing-is-here';
const restMs = 500;
const deadlineMs = 20_000;

/** In the page: nothing says that it is loading. */
const nothingLoads =
  "![...document.querySelectorAll('main .state[role=status]')].some(({ textContent }) => textContent.startsWith('Loading'))";

interface Call {
  /** The resource, without its query. */
  readonly path: string;
  readonly tookMs: number;
  readonly bytes: number;
}

/** One opening of a page. Milliseconds. */
interface View {
  readonly firstMs: number;
  /** Until nothing is loading any more. */
  readonly wholeMs: number;
  readonly serversCpuMs: number;
  readonly browserCpuMs: number;
  /** Those that were answered before the first view. */
  readonly calls: readonly Call[];
}

/** Prints as it goes. */
export async function measureDashboard(session: Session, { rules, entries, rounds = 5 }: Options): Promise<void> {
  const undoing: (() => unknown)[] = [];
  try {
    const world = await openWorld(session, { rules, entries });
    say(`${rules} rules, ${entries} audit entries, SQLite; ${rounds} rounds, warm browser cache`);
    const bench = { teardown: (undo: () => unknown) => undoing.unshift(undo) };
    const browser = await startBrowser(bench);
    const { page, context } = await browser.open(bench, { origin: world.proxy.url, path: restPath, key: MASTER_KEY });
    const cdp = await context.newCDPSession(page);
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
    const views = new Map<string, View[]>(pages.map(([path]) => [path, []]));
    // The first round warms the cache of the browser and the code of the servers.
    for (let round = -1; round < rounds; round += 1)
      for (const shown of pages) {
        progress(`round ${round + 1} of ${rounds}: ${shown[0]}`);
        const view = await openPage({ page, cdp, world }, shown);
        if (round >= 0) views.get(shown[0])?.push(view);
      }
    progress('');
    say(`${renderViews(views)}\n\n${renderCalls(views)}`);
    say(`target: first view ≤ ${FIRST_VIEW_TARGET_MS} ms`);
  } finally {
    for (const undo of undoing) await undo();
  }
}

interface Viewer {
  readonly page: Page;
  readonly cdp: CDPSession;
  readonly world: BothPlanes;
}

async function openPage({ page, cdp, world }: Viewer, [path, selector]: Shown): Promise<View> {
  const { origin } = new URL(world.proxy.url);
  await page.goto(`${origin}/admin/dashboard${restPath}`);
  await page.waitForTimeout(restMs);
  const servers = [world.controlPlane, world.proxy];
  const before = servers.map(({ pid }) => markCpu(pid));
  const browserBefore = await taskMs(cdp);
  await page.goto(`${origin}/admin/dashboard${path}`, { waitUntil: 'commit' });
  const firstMs = await whenShown(page, `document.querySelector(${JSON.stringify(selector)}) !== null`);
  const browserCpuMs = (await taskMs(cdp)) - browserBefore;
  const serversCpuMs = servers.reduce(
    (sum, { pid }, index) => sum + cpuBetweenMs(before[index] ?? markCpu(pid), markCpu(pid)),
    0,
  );
  const calls = await callsBefore(page, firstMs);
  return { firstMs, wholeMs: await whenShown(page, nothingLoads), serversCpuMs, browserCpuMs, calls };
}

/** CPU of the page's main thread. Milliseconds. */
async function taskMs(cdp: CDPSession): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics');
  return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0);
}

/** Since the navigation. `condition` is an expression of the page. */
async function whenShown(page: Page, condition: string): Promise<number> {
  const found = await page.evaluate<number>(`new Promise((resolve) => {
    const look = () => {
      const nowMs = performance.now();
      if (nowMs > ${deadlineMs}) resolve(-1);
      else if (${condition}) resolve(nowMs);
      else requestAnimationFrame(look);
    };
    look();
  })`);
  if (found < 0) throw new Error(`${page.url()} shows nothing: ${await page.locator('main').textContent()}`);
  return found;
}

async function callsBefore(page: Page, endMs: number): Promise<readonly Call[]> {
  return page.evaluate((latestMs) => {
    const timings = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
    return timings
      .filter(({ initiatorType, responseEnd }) => initiatorType === 'fetch' && responseEnd <= latestMs)
      .map(({ name, duration, decodedBodySize }) => ({
        path: new URL(name).pathname,
        tookMs: duration,
        bytes: decodedBodySize,
      }));
  }, endMs);
}

function renderViews(views: ReadonlyMap<string, readonly View[]>): string {
  const rows = [['page', '', 'first ms', 'max', 'whole ms', 'servers CPU', 'browser CPU']];
  for (const [path, all] of views) {
    const middle = (of: (view: View) => number): string => median(all.map(of)).toFixed(0);
    const slowest = Math.max(...all.map(({ firstMs }) => firstMs));
    rows.push([
      path === '' ? '/' : path,
      slowest > FIRST_VIEW_TARGET_MS ? 'slow' : '',
      middle(({ firstMs }) => firstMs),
      slowest.toFixed(0),
      middle(({ wholeMs }) => wholeMs),
      middle(({ serversCpuMs }) => serversCpuMs),
      middle(({ browserCpuMs }) => browserCpuMs),
    ]);
  }
  return renderTable(rows);
}

function renderCalls(views: ReadonlyMap<string, readonly View[]>): string {
  const rows = [['before the first view of', 'answered', 'ms', 'max', 'KiB']];
  for (const [path, all] of views) {
    const calls = Map.groupBy(
      all.flatMap((view) => view.calls),
      (call) => call.path,
    );
    for (const [resource, each] of calls) {
      const times = each.map(({ tookMs }) => tookMs);
      const kib = median(each.map(({ bytes }) => bytes)) / 1024;
      rows.push([
        path === '' ? '/' : path,
        resource,
        median(times).toFixed(0),
        Math.max(...times).toFixed(0),
        kib.toFixed(0),
      ]);
    }
  }
  return renderTable(rows);
}
