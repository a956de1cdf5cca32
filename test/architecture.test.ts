// The house rules as code: who may import what, where clock and environment live, how files are named. Every rule proves that it can fail.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'tap';
import { cycleIn, roomsOf } from './support/architecture/cycles.ts';
import { fileRules } from './support/architecture/file-rules.ts';
import { manifest, testPackages } from './support/architecture/manifest.ts';
import { proxyRules } from './support/architecture/proxy-rules.ts';
import { roomRules } from './support/architecture/room-rules.ts';
import { importsOf, sources, top } from './support/architecture/source-files.ts';

const mains = /^(proxy|control-plane)\/main\.ts$/;
const entriesAtTop = new Set(
  'package.json package-lock.json tsconfig.json biome.json README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md LICENSE schemas domain store gitops plane proxy control-plane examples deploy test docs'.split(
    ' ',
  ),
);

/** Tracked paths whose first part has no place at the top. */
function strayAtTop(tracked: readonly string[]): string[] {
  const first = new Set(tracked.map((path) => path.split('/')[0] ?? ''));
  const strays = [...first].filter((name) => !name.startsWith('.') && !entriesAtTop.has(name));
  // The pages of the documentation, pictures of the dashboard, decisions, and what makes the site of them.
  const known = /^docs\/([a-z0-9-]+\.(png|md)|README\.md|decisions\/\d{4}-[a-z0-9-]+\.md|site\/.+)$/;
  return [...strays, ...tracked.filter((path) => path.startsWith('docs/') && !known.test(path))];
}

interface Lock {
  readonly packages: Record<string, { readonly version?: string; readonly resolved?: string; readonly link?: boolean }>;
}

/** Packages that would come from somewhere other than the registry the installing machine uses. */
function pinnedHosts({ packages }: Lock): string[] {
  return Object.entries(packages)
    .filter(([, { version = '', resolved, link }]) => resolved !== undefined || link || /[:/]/.test(version))
    .map(([name]) => name);
}

/** YAML of examples that is no config of the gateway, and that a test reads. */
const loadedByTests = new Set(
  ['prometheus.yml', 'alerts.yaml', 'alerts.test.yaml', 'night.test.yaml'].map((file) => `observability/${file}`),
);

/** What is wrong with an example: a name, and its files' paths from its own folder. */
function exampleProblems(name: string, files: readonly string[]): string[] {
  // Workflows are no configuration.
  const yaml = files.filter((file) => /\.ya?ml$/.test(file) && !/^\.git(hub\/|lab-ci\.yml$)/.test(file));
  const isLoaded = (file: string): boolean => /^config\/(?!\.)/.test(file) && !file.includes('/.');
  return [
    ...(files.includes('README.md') ? [] : [`${name} has no README.md`]),
    ...(yaml.some(isLoaded) ? [] : [`${name} has no config/**/*.yaml`]),
    ...yaml
      .filter((file) => !isLoaded(file) && !loadedByTests.has(`${name}/${file}`))
      .map((file) => `${name}/${file} is loaded by nothing`),
  ];
}

const files = sources();

for (const { claim, check, bad, good = [] } of [...roomRules, ...proxyRules, ...fileRules]) {
  await test(claim, async (t) => {
    t.same(
      files.flatMap((file) => check(file).map((problem) => `${file.path} ${problem}`)),
      [],
    );
    t.same(
      bad.filter(([path, text]) => check({ path, text }).length === 0),
      [],
      'each of these must be refused',
    );
    t.same(
      good.filter(([path, text]) => check({ path, text }).length > 0),
      [],
      'each of these must be allowed',
    );
  });
}

/** Of files of tests: path and number of lines, of those that are too long. */
function longTests(tests: readonly { readonly path: string; readonly text: string }[]): string[] {
  return tests
    .map(({ path, text }) => ({ path, lines: text.replace(/\n$/, '').split('\n').length }))
    .filter(({ lines }) => lines > 400)
    .map(({ path, lines }) => `${path} has ${lines} lines of 400`);
}

await test('a file of tests has at most 400 lines', async (t) => {
  const paths = readdirSync(join(top, 'test'), { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.startsWith('node_modules'),
  );
  const tests = paths.map((path) => ({ path, text: readFileSync(join(top, 'test', path), 'utf8') }));
  t.ok(tests.length > 100);
  t.same(longTests(tests), []);
  t.same(longTests([{ path: 'a.test.ts', text: 'a\n'.repeat(401) }]), ['a.test.ts has 401 lines of 400']);
});

/** Folders with more source files of their own than a reader takes in at once. */
function crowdedFolders(paths: readonly string[]): string[] {
  const most = (folder: string): number => (folder === 'proxy' ? 12 : 30);
  return [...Map.groupBy(paths, (path) => posix.dirname(path))]
    .filter(([folder, own]) => own.length > most(folder))
    .map(([folder, own]) => `${folder} has ${own.length} files of ${most(folder)}`);
}

await test('a folder has at most 30 source files of its own, the root of the proxy 12', async (t) => {
  const named = (folder: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${folder}/a${index}.ts`);
  t.same(crowdedFolders(files.map(({ path }) => path)), []);
  t.same(crowdedFolders([...named('proxy', 13), ...named('proxy/http', 31)]), [
    'proxy has 13 files of 12',
    'proxy/http has 31 files of 30',
  ]);
  t.same(crowdedFolders([...named('proxy', 12), ...named('proxy/http', 30)]), []);
});

await test('the law is applied to the files that are there', async (t) => {
  for (const path of [
    'proxy/main.ts',
    'proxy/upstream/send.ts',
    'control-plane/main.ts',
    'gitops/follow/watch.ts',
    'deploy/local.ts',
  ]) {
    t.ok(
      files.some((file) => file.path === path),
      path,
    );
  }
  const imported = files.flatMap(importsOf).filter((name) => name.endsWith('.ts'));
  t.ok(imported.length > 100);
  t.same(
    imported.filter((name) => !existsSync(join(top, name))),
    [],
    'every import leads to a file',
  );
});

await test('no file imports itself by a detour', async (t) => {
  t.equal(cycleIn(files), undefined);
  const a = { path: 'proxy/a.ts', text: "import { b } from './b.ts';" };
  const b = { path: 'proxy/b.ts', text: "import type { c } from './stages/c.ts';" };
  const c = { path: 'proxy/stages/c.ts', text: "export { a } from '../a.ts';" };
  t.equal(cycleIn([a, b, c]), 'proxy/a.ts → proxy/b.ts → proxy/stages/c.ts → proxy/a.ts');
  t.equal(cycleIn([a, b]), undefined);
});

await test('no room of a plane imports another one that imports it', async (t) => {
  const planes = files.filter(({ path }) => /^(proxy|control-plane)\//.test(path));
  t.equal(cycleIn(roomsOf(planes)), undefined);
  const a = { path: 'proxy/stages/a.ts', text: "import { b } from '../server.ts';" };
  const b = { path: 'proxy/server.ts', text: "import type { c } from './stages/c.ts';" };
  t.equal(cycleIn(roomsOf([a, b])), 'proxy/stages → proxy/server.ts → proxy/stages');
  t.equal(cycleIn(roomsOf([a])), undefined);
});

/** The files of ours that are type-checked together by `tsc -p <project>`: those it includes, and what they import. */
function checkedBy(project: string): string[] {
  const tsc = join(top, 'node_modules/typescript/bin/tsc');
  const shown = execFileSync(process.execPath, [tsc, '-p', project, '--showConfig'], { cwd: top, encoding: 'utf8' });
  const included = (JSON.parse(shown) as { files: string[] }).files.map((path) => posix.join(project, path));
  const importedBy = new Map(files.map((file) => [file.path, importsOf(file)]));
  const checked = new Set(included);
  // A set gives what is added while it is walked, too.
  for (const path of checked) for (const name of importedBy.get(path) ?? []) checked.add(name);
  return [...checked];
}

await test('a plane is type-checked without the other one and its Fastify decorations', async (t) => {
  const doors = ['proxy/server.ts', 'control-plane/server.ts'];
  t.ok(checkedBy('control-plane/dashboard/page').includes('control-plane/dashboard/page/main.ts'));
  const of = (project: string): string[] => checkedBy(project).filter((path) => doors.includes(path));
  t.same(of('proxy'), ['proxy/server.ts']);
  t.same(of('control-plane'), ['control-plane/server.ts']);
  t.same(of('.').sort(), doors.toSorted(), 'tests see both');
  t.match(manifest.scripts['types'], /-p proxy .*-p control-plane .*-p control-plane\/dashboard\/page$/);
});

await test('a parameter list ends at four: the linter refuses a fifth name', async (t) => {
  // The rule is Biome's, and covers every file; what is shown here is that it is in force.
  const folder = mkdtempSync(join(tmpdir(), 'parameters-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const shapes = { function: 'export function f(LIST) {}', arrow: 'export const f = (LIST) => {};' };
  const lists = { four: 'a, b, c, d', five: 'a, b, c, d, e' };
  for (const [shape, code] of Object.entries(shapes)) {
    for (const [count, list] of Object.entries(lists))
      writeFileSync(join(folder, `${shape}-${count}.ts`), code.replace('LIST', list));
  }
  const biome = [
    join(top, 'node_modules/@biomejs/biome/bin/biome'),
    'lint',
    `--config-path=${top}`,
    '--diagnostic-level=error',
    '--reporter=github',
  ];
  const { stdout } = spawnSync(process.execPath, [...biome, '.'], { cwd: folder, encoding: 'utf8' });
  const refused = new Set([...stdout.matchAll(/useMaxParams,file=[^,]*?([\w-]+)\.ts,/g)].map((match) => match[1]));
  t.same(refused, new Set(['arrow-five', 'function-five']), stdout);
});

await test('the top level has its ten rooms, pages, pictures and no clutter', async (t) => {
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: top, encoding: 'utf8' }).split('\0').filter(Boolean);
  t.same(strayAtTop(tracked), []);
  t.same(strayAtTop(['src/a.ts', 'README.md', '.gitignore', 'proxy/a.ts', 'scratch.ts']), ['src', 'scratch.ts']);
  t.same(
    strayAtTop([
      'docs/overview-dark.png',
      'docs/decisions/0001-a.md',
      'docs/guide.md',
      'docs/guide.txt',
      'docs/a/b.png',
    ]),
    ['docs/guide.txt', 'docs/a/b.png'],
  );
});

await test('the lock file names no host', async (t) => {
  for (const file of ['package-lock.json', 'test/package-lock.json'])
    t.same(pinnedHosts(JSON.parse(readFileSync(join(top, file), 'utf8')) as Lock), []);
  const locked = {
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { version: '1.0.0', resolved: 'https://registry.example/b.tgz' },
    'node_modules/c': { version: 'git+ssh://git@host.example/c' },
    'node_modules/d': { link: true },
  };
  t.same(pinnedHosts({ packages: locked }), ['node_modules/b', 'node_modules/c', 'node_modules/d']);
});

await test('every dependency has one exact version', async (t) => {
  const versions = { ...manifest.dependencies, ...manifest.devDependencies, ...testPackages };
  t.same(
    Object.entries(versions).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version)),
    [],
  );
});

await test('every example is complete, listed in the documentation, and all of its config is loaded', async (t) => {
  const map = readFileSync(join(top, 'docs/README.md'), 'utf8');
  for (const name of readdirSync(join(top, 'examples'))) {
    const folder = join(top, 'examples', name);
    const inside = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    t.same(exampleProblems(name, inside), []);
    t.ok(map.includes(`examples/${name})`), `docs/README.md lists examples/${name}`);
  }
  t.same(exampleProblems('x', ['README.md', 'config', 'config/a/b.yaml', '.github/workflows/check.yml']), []);
  t.same(exampleProblems('x', ['deep/a.yaml', 'config/.b/a.yaml']), [
    'x has no README.md',
    'x has no config/**/*.yaml',
    'x/deep/a.yaml is loaded by nothing',
    'x/config/.b/a.yaml is loaded by nothing',
  ]);
});

await test('every module can be imported by itself', async (t) => {
  // Programs start when imported: the two planes, and the worker, which needs its thread.
  const programs = new Set(['gitops/assemble/load-worker.ts', 'proxy/serve.ts']);
  const modules = files.filter(
    ({ path }) =>
      /^(schemas|domain|store|gitops|plane|proxy|control-plane)\/(?!dashboard\/page\/)/.test(path) &&
      !mains.test(path) &&
      !programs.has(path),
  );
  const withDefault: string[] = [];
  for (const { path } of modules) {
    const module = (await import(pathToFileURL(join(top, path)).href)) as object;
    if ('default' in module) withDefault.push(path);
  }
  t.same(withDefault, []);
});
