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

export interface OpenOptions {
  /** A proxy, or the control plane. */
  readonly origin: string;
  /** Below the dashboard. Default: the overview. */
  readonly path?: string;
  readonly theme?: 'light' | 'dark';
  /** Default 1440 by 900. */
  readonly size?: { readonly width: number; readonly height: number };
  /** The key to log in with beforehand; null: nobody logs in. Default: the master key. */
  readonly key?: string | null;
  /** What the console may say. */
  readonly expected?: RegExp;
}

export interface OpenPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the page has complained of since it was asked last: errors, warnings, what the content policy has blocked. */
  complaints(): string[];
  /** The rules of accessibility (WCAG 2.2 AA and good practice) that the page breaks now, with the elements. */
  barriers(): Promise<string[]>;
  /** Keeps a picture, when pictures are wanted. */
  picture(name: string): Promise<void>;
}

export interface TestBrowser {
  open(options: OpenOptions): Promise<OpenPage>;
}

/** One process for a file of tests; each page has cookies and storage of its own. */
export async function startBrowser(t: Teardown): Promise<TestBrowser> {
  const browser = await chromium.launch({ executablePath: needProgram('chromium'), args: flags });
  t.teardown(() => browser.close());
  return {
    async open({ origin, path = '', theme = 'light', size = { width: 1440, height: 900 }, key = masterKey, expected }) {
      const context = await browser.newContext({
        colorScheme: theme,
        viewport: size,
        locale: 'en-GB',
        timezoneId: 'UTC',
      });
      context.setDefaultTimeout(10_000);
      if (key !== null) await logIn(context, origin, key);
      const page = await context.newPage();
      let said: string[] = [];
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
        barriers: () => barriersOf(page),
        async picture(name) {
          if (pictures === undefined) return;
          mkdirSync(join(top, pictures), { recursive: true });
          await page.screenshot({ path: join(top, pictures, `${name}-${theme}.png`), animations: 'disabled' });
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

async function barriersOf(page: Page): Promise<string[]> {
  // The content policy does not hold for what the debugger evaluates.
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run();
    return violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.html}`));
  });
}
