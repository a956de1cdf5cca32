// The site of the documentation, before it is built: which pages it has, and that their links lead to each other.
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'tap';
import { forSite, groupsOf, pagePatterns, targetOf } from '../../docs/site/pages.ts';

const top = join(import.meta.dirname, '../..');
const pages = new Map(globSync(pagePatterns, { cwd: top }).map((source) => [source, targetOf(source)]));
const textOf = (source: string): string => readFileSync(join(top, source), 'utf8');

await test('every link of the site leads to one of its pages or pictures', (t) => {
  const pictures = globSync('docs/*.png', { cwd: top }).map((picture) => posix.basename(picture));
  const there = new Set([...pages.values(), ...pictures]);
  const dead = [...pages].flatMap(([source, target]) => {
    const links = [...forSite(textOf(source), { source, target }, pages).matchAll(/\]\((?!https?:)([^)\s#]+)/g)];
    return links
      .map(([, link = '']) => posix.join(posix.dirname(target), link))
      .filter((path) => !there.has(path))
      .map((path) => `${source} ${path}`);
  });
  t.same(dead, []);
  t.equal(new Set(pages.values()).size, pages.size, 'no two pages have one place');
  t.end();
});

await test('a link to what is no page is named, a folder with a README is its page, and markup of a text is told apart', (t) => {
  const page = { source: 'docs/a.md', target: 'a.md' };
  const site = (text: string): string =>
    forSite(text, page, new Map([['examples/x/README.md', 'examples/x/index.md']]));
  t.equal(
    site('[x](../examples/x) and [the table](../proxy/t.ts)'),
    '[x](./examples/x/index.md) and the table (`proxy/t.ts`)',
  );
  t.equal(site('[proxy/t.ts](../proxy/t.ts), <name>, `<name>`'), '`proxy/t.ts`, &lt;name>, `<name>`');
  t.end();
});

await test('the list at the side has every page of the map', (t) => {
  const groups = groupsOf(textOf('docs/README.md'), pages);
  const listed = new Set(groups.flatMap(({ items }) => items.map(({ link }) => link)));
  t.ok(groups.length >= 5);
  const documents = globSync('docs/*.md', { cwd: top }).filter((page) => page !== 'docs/README.md');
  t.same(
    documents.map((page) => `/${targetOf(page).replace(/\.md$/, '')}`).filter((link) => !listed.has(link)),
    [],
  );
  t.end();
});
