// The pages a reader follows: every link leads to a file, and to a heading where it names one; YAML is valid; the first page stays short.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { test } from 'tap';
import { expand } from '../gitops/read/expand.ts';
import { parseFile } from '../gitops/read/parse.ts';
import { formatProblem } from '../gitops/read/problem.ts';
import { validate } from '../gitops/read/validate.ts';
import { yamlOf } from './support/pages.ts';

const top = join(import.meta.dirname, '..');
const pages = globSync('{*,*/*,examples/*/*}.md', { cwd: top, exclude: ['{node_modules,dist}/**'] }).map((name) =>
  join(top, name),
);
const longestReadme = 120;
const longestPage = 250;

/** Headings as GitHub names them in addresses: lower case, punctuation dropped, blanks as hyphens. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** The relative links of a page that lead nowhere. */
function deadLinks(page: string, text: string): string[] {
  const links = [...text.matchAll(/\]\((?!https?:)([^)\s]*)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : join(dirname(page), path);
    if (!existsSync(target)) return true;
    return anchor !== undefined && !anchorsOf(target === page ? text : readFileSync(target, 'utf8')).has(anchor);
  });
}

await test('every link of every page leads somewhere', async (t) => {
  const dead = pages.flatMap((page) =>
    deadLinks(page, readFileSync(page, 'utf8')).map((link) => `${relative(top, page)} ${link}`),
  );
  t.strictSame(dead, []);
  t.ok(pages.length >= 12);
  const text = '# A b\n[a](#a-b) [b](#b) [c](no.md) [d](LICENSE) [e](README.md#no)';
  t.strictSame(deadLinks(join(top, 'README.md'), text), ['#b', 'no.md', 'README.md#no']);
});

await test('the data plane says what each of its rooms is for', async (t) => {
  const map = readFileSync(join(top, 'proxy/README.md'), 'utf8');
  const rooms = globSync('*/', { cwd: join(top, 'proxy') }).map((name) => name.replace(/\/$/, ''));
  t.ok(rooms.length > 20);
  t.strictSame(
    rooms.filter((room) => !map.includes(`| \`${room}/\` `)),
    [],
  );
});

await test('every room is on the map of those who work on it', async (t) => {
  const map = readFileSync(join(top, 'CONTRIBUTING.md'), 'utf8');
  const rooms = [
    'schemas',
    'domain',
    'store',
    'gitops',
    'plane',
    'proxy',
    'control-plane',
    'examples',
    'deploy',
    'test',
  ];
  t.strictSame(
    rooms.filter((room) => !map.includes(`](${room}`)),
    [],
  );
});

await test('the first page is short, no page of the documentation is long, and each is on its map', async (t) => {
  const lengthOf = (page: string): number => readFileSync(join(top, page), 'utf8').split('\n').length;
  t.ok(lengthOf('README.md') <= longestReadme);
  const documents = globSync('docs/*.md', { cwd: top });
  t.strictSame(
    documents.filter((page) => lengthOf(page) > longestPage),
    [],
  );
  const map = readFileSync(join(top, 'docs/README.md'), 'utf8');
  t.strictSame(
    documents.filter((page) => page !== 'docs/README.md' && !map.includes(`](${basename(page)})`)),
    [],
  );
});

await test('every YAML of the documentation has only fields and values that the gateway knows', (t) => {
  const environment = { OPENAI_API_KEY: 'sk-1', PROXY_PASSWORD: 'p' };
  // What is YAML on those pages belongs to Kubernetes.
  const documents = globSync('docs/*.md', { cwd: top, exclude: ['docs/deploying-*'] }).flatMap((page) =>
    yamlOf(page)
      // Those of policies and of tests have tests of their own.
      .filter((text) => !/^#.*\n$/.test(text) && !/^(#.*\n)*(policies|tests):/.test(text))
      .map((text) => ({ page, text })),
  );
  const wrong = documents.flatMap(({ page, text }) => {
    const { parsed, problems } = parseFile({ name: page, path: page, bytes: Buffer.from(text) });
    if (parsed === undefined) return problems.map(formatProblem);
    const { value, unknown } = expand(parsed.value, environment, 'error');
    return validate(parsed, value, unknown).problems.map(formatProblem);
  });
  t.same(wrong, []);
  t.ok(documents.length > 5);
  t.end();
});
