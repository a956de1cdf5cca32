// A real browser for tests of the dashboard: Debian's Chromium. What the page says to its console, and every rule of accessibility it breaks, fails the test.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type axe from 'axe-core';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { masterKey } from './gateway.ts';
import { needProgram } from './programs.ts';
import type { Teardown } from './teardown.ts';

const top = join(import.meta.dirname, '../..');
const flags = ['--disable-dev-shm-usage', '--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])];

/** Where pictures are kept, such as `docs`; absent: nowhere. */
const pictures = process.env['PICTURES'];
/** Pictures are kept: then they show what people would write. */
export const isPictured = pictures !== undefined;

export interface OpenOptions {
  /** A proxy, or the control plane. */
  readonly origin: string;
  /** Below the dashboard. Default: the overview. */
  readonly path?: string;
  readonly theme?: 'light' | 'dark';
  /** Default 1440 by 900. */
  readonly size?: { readonly width: number; readonly height: number };
  /** The key to log in with beforehand; null: no login. Default: the master key. */
  readonly key?: string | null;
  /** The expected words of the console. */
  readonly expected?: RegExp;
}

export interface OpenPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Goes to an address below the dashboard as a link of the page does: a page that is loaded anew takes six times as long. */
  readonly go: (path: string) => Promise<void>;
  /** The complaints of the page since the last call: errors, warnings, and what the content policy has blocked. */
  readonly complaints: () => string[];
  /** The rules of accessibility (WCAG 2.2 AA and good practice) that the page breaks now, with the elements. */
  readonly barriers: (colours?: 'with colours' | 'without colours') => Promise<string[]>;
  /** The system of the viewer turns light or dark. */
  readonly turn: (theme: 'light' | 'dark') => Promise<void>;
  /** Keeps a picture, when pictures are wanted. */
  readonly picture: (name: string) => Promise<void>;
}

export interface TestBrowser {
  /** Until the test ends. Pages that are open at the same time share one session; otherwise each has its own, and its own storage. */
  open(t: Teardown, options: OpenOptions): Promise<OpenPage>;
}

/** Until `whole` ends. */
export async function startBrowser(whole: Teardown): Promise<TestBrowser> {
  const browser = await chromium.launch({ executablePath: needProgram('chromium'), args: flags });
  whole.teardown(() => browser.close());
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' });
  context.setDefaultTimeout(10_000);
  await context.addInitScript(hurry, { pauseMs: 2_000, noticeMs: 6_000 });
  const first = await context.newPage();
  const inUse = new Set<Page>();
  let session = '';

  /**
   * Gives a tab whose context has a session of the key, and no other. `isLoaded`: it shows the dashboard to the same operator already; to load
   * it anew takes six times as long as to go to another page of it.
   */
  async function take(t: Teardown, origin: string, key: string | null): Promise<{ page: Page; isLoaded: boolean }> {
    const asked = `${origin} ${key}`;
    if (inUse.size > 0 && asked !== session) throw new Error('a page of another session is still open');
    const page = inUse.has(first) ? await context.newPage() : first;
    const isLoaded = page === first && key !== null && asked === session && (await isNowhere(page));
    if (inUse.size === 0 && !isLoaded) {
      session = asked;
      await context.clearCookies();
      if (key !== null) await logIn(context, origin, key);
    }
    inUse.add(page);
    t.teardown(() => leave(page));
    return { page, isLoaded };
  }

  async function leave(page: Page): Promise<void> {
    inUse.delete(page);
    if (page !== first) return page.close();
    for (const event of ['console', 'pageerror', 'request', 'response']) page.removeAllListeners(event);
    const hasChosen = await page.evaluate('document.documentElement.dataset.theme !== "auto"').catch(() => true);
    // The page of an error has none.
    await page.evaluate('localStorage.clear()').catch(() => undefined);
    if (hasChosen) return;
    await page.evaluate('for (const each of document.querySelectorAll(".write button")) each.click()');
    await goTo(page, nowhere);
  }

  return {
    async open(t, options) {
      const { origin, path = '', theme = 'light', size = { width: 1440, height: 900 } } = options;
      const { key = masterKey, expected } = options;
      const { page, isLoaded } = await take(t, origin, key);
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize(size);
      let said: string[] = [];
      let shown = theme;
      page.on('console', (message) => {
        const text = `${message.type()}: ${message.text()}`;
        if (['error', 'warning'].includes(message.type()) && expected?.test(text) !== true) said.push(text);
      });
      page.on('pageerror', (error) => said.push(`thrown: ${error.stack ?? error.message}`));
      // Until then the page before it speaks.
      page.once('framenavigated', () => {
        said = [];
      });
      if (isLoaded) await goTo(page, path);
      else await page.goto(`${origin}/admin/dashboard${path}`);
      await page.locator('h1', { hasNotText: notFound }).waitFor();
      return {
        page,
        context,
        go: (to) => goTo(page, to),
        complaints() {
          const all = said;
          said = [];
          return all;
        },
        barriers: (colours = 'with colours') => barriersOf(page, shown, colours),
        async turn(other) {
          shown = other;
          await page.emulateMedia({ colorScheme: other });
        },
        async picture(name) {
          if (pictures === undefined) return;
          mkdirSync(join(top, pictures), { recursive: true });
          await page.screenshot({ path: join(top, pictures, `${name}.png`), animations: 'disabled' });
        },
      };
    },
  };
}

/** An address without a page: a tab is left there, where it asks for nothing. */
const nowhere = '/none';
const notFound = 'Not found';

function isNowhere(page: Page): Promise<boolean> {
  return page.locator('.frame h1', { hasText: notFound }).isVisible();
}

async function goTo(page: Page, to: string): Promise<void> {
  const address = JSON.stringify(`/admin/dashboard${to}`);
  await page.evaluate(`history.pushState(null, '', ${address}); dispatchEvent(new PopStateEvent('popstate'))`);
}

/** In the page: what it asks again after many seconds is asked after two, so that no test waits for it. */
function hurry({ pauseMs, noticeMs }: { readonly pauseMs: number; readonly noticeMs: number }): void {
  const wait = globalThis.setTimeout;
  // Notices stay as long as they do for people, for whoever looks for them.
  const sooner = (call: () => void, ms = 0): unknown => wait(call, ms === noticeMs ? ms : Math.min(ms, pauseMs));
  globalThis.setTimeout = sooner as typeof globalThis.setTimeout;
}

async function logIn(context: BrowserContext, origin: string, key: string): Promise<void> {
  const answer = await context.request.post(`${origin}/admin/session`, { data: { key } });
  if (!answer.ok()) throw new Error(`the login answered ${answer.status()}: ${await answer.text()}`);
}

const axeSource = readFileSync(join(top, 'test/node_modules/axe-core/axe.min.js'), 'utf8');

/**
 * Of an open window alone, because the rest is out of reach, and of the first rows of a table, because rows are alike. The themes differ in
 * their colours alone: all other rules are asked for in the light one. To compare colours takes most of the time.
 */
async function barriersOf(
  page: Page,
  theme: 'light' | 'dark',
  colours: 'with colours' | 'without colours',
): Promise<string[]> {
  // The content policy does not hold for what the debugger evaluates.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axeSource);
  const contrast = 'color-contrast';
  const layout = { rules: { [contrast]: { enabled: false } } };
  const options = theme === 'dark' ? { runOnly: [contrast] } : colours === 'with colours' ? {} : layout;
  const hasWindow = (await page.locator('dialog[open]').count()) > 0;
  const within: axe.ContextObject = hasWindow
    ? { include: [['dialog[open]']] }
    : { exclude: [['tbody tr:nth-child(n+16)']] };
  const asked = { within, given: { ...options, resultTypes: ['violations'] } satisfies axe.RunOptions };
  return page.evaluate(async ({ within: place, given }) => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(place, given);
    return violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.html}`));
  }, asked);
}
