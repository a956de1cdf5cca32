// npm run build [-- DIR]: puts each program and what it imports into few files, for shipping; default `dist`. What runs is the same: only reading
// and compiling hundreds of files is saved at every start.
import { chmodSync, cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build as bundle, type Plugin } from 'esbuild';
import { readPageFiles } from '../control-plane/dashboard/page-files.ts';
import manifest from '../package.json' with { type: 'json' };
import { licencesOf } from './build/licences.ts';
import { programs, top } from './cli/programs.ts';

const rooms = '{domain,store,gitops,plane,proxy,control-plane,deploy}';

const pageFiles = 'control-plane/dashboard/page-files.ts';
/** A file that a thread runs, as its parent names it. */
const threadFile = /new URL\('([\w-]+)\.ts', import\.meta\.url\)/g;

/** What is in a build as it is here. */
const copied = [
  'schemas/**/*.schema.json',
  'schemas/REFERENCE.md',
  'examples/*/config/**/*.yaml',
  'docs/*.md',
  'README.md',
  'LICENSE',
];

/** Node for the machines that npm has one for; the packages of clouds, which are optional as well, are in the build. */
const nodes = Object.entries(manifest.optionalDependencies).filter(([name]) => name.startsWith('node-'));

/** The package that `npm pack` makes of a build: everything is in it but a library, and Node, which npm brings where it can. */
const packed = {
  name: manifest.name,
  version: manifest.version,
  description: manifest.description,
  license: manifest.license,
  type: 'module',
  bin: { 'model-gateway': 'model-gateway.js' },
  dependencies: { 'sqlite-vec': manifest.dependencies['sqlite-vec'] },
  optionalDependencies: Object.fromEntries(nodes),
};

/** All files of a build lie in one folder, so that a module knows where the others are whichever file it comes into. */
const flat = (path: string): string => path.replaceAll('/', '-').replace(/\.ts$/, '');

/** Builds into the folder, which is emptied. Throws, after printing why, when something does not build. */
export async function build(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const { metafile } = await bundle({
    absWorkingDir: top,
    entryPoints: { 'model-gateway': 'deploy/cli/launch.ts', ...programs, ...threads() },
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    minifyWhitespace: true,
    sourcemap: true,
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    // It has a library in machine code beside it.
    external: ['sqlite-vec'],
    plugins: [places],
    banner: { js: `#!/usr/bin/env node\n${requireOfPackages}` },
  });
  for (const path of globSync(copied, { cwd: top })) cpSync(join(top, path), join(folder, path));
  chmodSync(join(folder, 'model-gateway.js'), 0o755);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(packed, null, 2)}\n`);
  const page = readPageFiles();
  writeFileSync(join(folder, 'page.json'), JSON.stringify(page));
  const ofPage = Object.keys(page.modules).filter((name) => !name.endsWith('.ts'));
  const files = [...Object.keys(metafile.inputs), ...ofPage.map((name) => `node_modules/${name}`)];
  writeFileSync(join(folder, 'LICENSES.txt'), licencesOf(top, files));
}

/** The files that threads run, by their name in the build. */
function threads(): Record<string, string> {
  const found = globSync(`${rooms}/**/*.ts`, { cwd: top }).flatMap((path) =>
    [...readFileSync(join(top, path), 'utf8').matchAll(threadFile)].map(([, name]) =>
      join(dirname(path), `${name}.ts`),
    ),
  );
  return Object.fromEntries(found.map((path) => [flat(path), path]));
}

/** Says anew where files lie, and reads the page from its one file. */
const places: Plugin = {
  name: 'places',
  setup(plugins) {
    plugins.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const from = relative(top, path);
      const text = readFileSync(path, 'utf8');
      if (from === pageFiles) return { contents: fromOneFile, loader: 'ts' };
      if (!text.includes('import.meta.')) return undefined;
      const room = dirname(from);
      const contents = text
        .replace(threadFile, (_, name: string) => `new URL('${flat(join(room, name))}.js', import.meta.url)`)
        .replaceAll('import.meta.dirname', `(import.meta.dirname + '/${room}')`);
      return { contents, loader: 'ts', resolveDir: dirname(path) };
    });
  },
};

/** For the packages that are written in CommonJS. */
const requireOfPackages =
  "import { createRequire as requireOf } from 'node:module';const require = requireOf(import.meta.url);";

const fromOneFile = `
import { readFileSync } from 'node:fs';
export const readPageFiles = () => JSON.parse(readFileSync(new URL('page.json', import.meta.url), 'utf8'));
`;

if (import.meta.main) await build(process.argv[2] ?? join(top, 'dist'));
