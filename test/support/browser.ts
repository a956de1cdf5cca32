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
  /** What the console may say. */
  readonly expected?: RegExp;
  /** The page has cookies and storage to itself; otherwise it shares those of its key, and what the browser has loaded before. */
  readonly isAlone?: boolean;
}

export interface OpenPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the page has complained of since it was asked last: errors, warnings, what the content policy has blocked. */
  readonly complaints: () => string[];
  /** The rules of accessibility (WCAG 2.2 AA and good practice) that the page breaks now, with the elements. */
  readonly barriers: () => Promise<string[]>;
  /** The system of the viewer turns light or dark. */
  readonly turn: (theme: 'light' | 'dark') => Promise<void>;
  /** Keeps a picture, when pictures are wanted. */
  readonly picture: (name: string) => Promise<void>;
}

export interface TestBrowser {
  open(options: OpenOptions): Promise<OpenPage>;
}

/** One process for a file of tests. Pages are closed when it ends. */
export async function startBrowser(t: Teardown): Promise<TestBrowser> {
  const browser = await chromium.launch({ executablePath: needProgram('chromium'), args: flags });
  t.teardown(() => browser.close());
  const shared = new Map<string, Promise<BrowserContext>>();

  async function contextFor(origin: string, key: string | null): Promise<BrowserContext> {
    const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' });
    context.setDefaultTimeout(10_000);
    if (key !== null) await logIn(context, origin, key);
    return context;
  }

  function sharedFor(origin: string, key: string | null): Promise<BrowserContext> {
    const name = `${origin} ${key}`;
    const context = shared.get(name) ?? contextFor(origin, key);
    shared.set(name, context);
    return context;
  }

  return {
    async open(options) {
      const { origin, path = '', theme = 'light', size = { width: 1440, height: 900 } } = options;
      const { key = masterKey, expected, isAlone = false } = options;
      const context = await (isAlone ? contextFor(origin, key) : sharedFor(origin, key));
      const page = await context.newPage();
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize(size);
      let said: string[] = [];
      let shown = theme;
      page.on('console', (message) => {
        const text = `${message.type()}: ${message.text()}`;
        if (['error', 'warning'].includes(message.type()) && expected?.test(text) !== true) said.push(text);
      });
      page.on('pageerror', (error) => said.push(`thrown: ${error.stack ?? error.message}`));
      await page.goto(`${origin}/admin/dashboard${path}`);
      await page.locator('h1').waitFor();
      return {
        page,
        context,
        complaints() {
          const all = said;
          said = [];
          return all;
        },
        barriers: () => barriersOf(page, shown),
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

async function logIn(context: BrowserContext, origin: string, key: string): Promise<void> {
  const answer = await context.request.post(`${origin}/admin/session`, { data: { key } });
  if (!answer.ok()) throw new Error(`the login answered ${answer.status()}: ${await answer.text()}`);
}

const axeSource = readFileSync(join(top, 'node_modules/axe-core/axe.min.js'), 'utf8');

/** The themes differ in their colours alone: all other rules are asked for in the light one. */
async function barriersOf(page: Page, theme: 'light' | 'dark'): Promise<string[]> {
  // The content policy does not hold for what the debugger evaluates.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axeSource);
  const options = theme === 'dark' ? { runOnly: ['color-contrast'] } : {};
  return page.evaluate(async (given) => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(given);
    return violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.html}`));
  }, options);
}
