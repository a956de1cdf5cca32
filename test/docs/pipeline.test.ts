// Comments of pull requests: names in them can do no harm. With PICTURES=docs, as `PICTURES=docs node test/docs/pipeline.test.ts`, Chromium draws those of
// docs/pipeline.md.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { marked, type Token } from 'marked';
import { test } from 'tap';
import { checkConfig } from '../../gitops/cli/check-directory.ts';
import { fenced, safe } from '../../gitops/gate/markdown.ts';
import { pagePullRequests } from '../support/pull-requests.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const evil = [
  '@everyone',
  '&commat;everyone',
  '[a](https://evil.example.org)',
  '![a](//evil.example.org/a.png)',
  'https://evil.example.org',
  'www.evil.example.org',
  '<img src=x onerror=alert(1)>',
  '<!-- review of the gateway configuration -->',
  '</details><script>alert(1)</script>',
  '`code` **bold** ~~gone~~ | cell | #1 !2 $x$',
  '``` \n/close\n```',
  '\u202Ereversed\u200B\u0007',
  '# Title\n- [x] done\n> quote',
];
const allowed = new Set([
  'paragraph',
  'text',
  'escape',
  'space',
  'table',
  'code',
  'heading',
  'strong',
  'codespan',
  'list',
  'list_item',
]);

/** The kinds of everything in a text, but for what a text may be. */
function unexpected(markdown: string): string[] {
  const found: string[] = [];
  void marked.walkTokens(marked.lexer(markdown), ({ type }: Token) => {
    if (!allowed.has(type)) found.push(type);
  });
  return found;
}

await test('no name becomes a link, an image, a mention, HTML or a command', (t) => {
  for (const name of evil) {
    const said = safe(name);
    for (const text of [said, `- ${said}`, `| a |\n| --- |\n| ${said} |`]) t.strictSame(unexpected(text), [], text);
    t.notMatch(said, /@\w|:\/\/|[\p{Cc}\u202E]/u, name);
    t.notMatch(marked.parseInline(said), /<(?!del>)|@\w/, name);
    const block = fenced(name).join('\n');
    t.strictSame(
      marked.lexer(block).map(({ type }) => type),
      ['code'],
      name,
    );
  }
  t.end();
});

await test('a comment about evil names is a heading, a table and a sentence', async (t) => {
  const folder = temporaryDirectory(t, 'evil');
  mkdirSync(join(folder, 'policies'));
  const entries = evil.map((name) => ({
    path: `/${name.replaceAll(/[^\x20-9;-~]|\/\//g, '')}`,
    limits: [{ period: 'minute', max_requests: 1 }],
  }));
  writeFileSync(join(folder, 'a.yaml'), JSON.stringify({ rate_limits: { user_paths: entries } }));
  const policy = { name: 'x', for: 'user_path', expect: 'false', message: '{{user_path.path}}' };
  writeFileSync(join(folder, 'policies/p.cel.yaml'), JSON.stringify({ policies: [policy] }));
  const { output, code } = await checkConfig([folder, '--format', 'markdown'], {});
  t.equal(code, 1);
  t.match(output, 'evil');
  t.strictSame(unexpected(output), []);
  t.notMatch(output, /@\w|:\/\//);
});

await test('a comment has an end, whatever is wrong', async (t) => {
  const folder = temporaryDirectory(t, 'many');
  const paths = Array.from({ length: 5_000 }, (_, index) => `    - { path: /team-${index}, limts: [] }`).join('\n');
  writeFileSync(join(folder, 'a.yaml'), `rate_limits:\n  user_paths:\n${paths}\n`);
  const { output } = await checkConfig([folder, '--format', 'markdown'], {});
  t.ok(output.length < 20_000, `${output.length} characters`);
  t.match(output, /and \d+ more, which the log has/);
});

/** As a forge shows it. */
const style = `
  body { margin: 0; padding: 24px; width: 880px; background: #fff; color: #1f2328; font: 14px/1.5 "Noto Sans", "DejaVu Sans", sans-serif; }
  article { border: 1px solid #d1d9e0; border-radius: 6px; overflow: hidden; }
  header { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; color: #59636e; }
  header b { color: #1f2328; }
  main { padding: 4px 16px 16px; }
  h3 { font-size: 17px; margin: 20px 0 10px; }
  table { border-collapse: collapse; margin: 12px 0; }
  th, td { border: 1px solid #d1d9e0; padding: 6px 12px; text-align: left; vertical-align: top; }
  tr:nth-child(even) td { background: #f6f8fa; }
  code, pre { background: #f2f4f6; border-radius: 4px; padding: 2px 5px; font: 12px "DejaVu Sans Mono", monospace; }
  pre { padding: 12px; overflow: hidden; }
  blockquote { margin: 12px 0; padding: 0 14px; border-left: 4px solid #d1242f; color: #59636e; }
  li { margin: 3px 0; } details { margin: 10px 0; }`;

const folder = process.env['PICTURES'];
if (folder !== undefined) {
  const { chromium } = await import('playwright-core');
  const { needProgram } = await import('../support/programs.ts');
  const flags = ['--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])];
  const browser = await chromium.launch({ executablePath: needProgram('chromium'), args: flags });
  const page = await browser.newPage({ viewport: { width: 928, height: 600 }, deviceScaleFactor: 1.5 });
  const comments = pagePullRequests();
  for (const [name, title] of [
    ['pipeline', 'A policy that is broken'],
    ['plan', 'A limit that would refuse requests of Monday'],
  ] as const) {
    const comment = marked.parse(comments.get(title) ?? '', { async: false });
    const header = '<header><b>github-actions</b> bot commented</header>';
    await page.setContent(`<!doctype html><style>${style}</style><article>${header}<main>${comment}</main></article>`);
    await page.locator('body').screenshot({ path: join(folder, `${name}.png`) });
  }
  await browser.close();
}
