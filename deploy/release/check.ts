// npm run release:check [-- TAG]: builds, writes the software bill of materials into the build, and says whether all parts of a release agree.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from '../build.ts';
import { findings, type Package } from './findings.ts';

const top = join(import.meta.dirname, '../..');
const dist = join(top, 'dist');
const json = (path: string): { readonly name: string; readonly version: string; readonly license?: string } =>
  JSON.parse(readFileSync(join(top, path), 'utf8'));
const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { cwd: top, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });

interface Bill {
  readonly metadata: { readonly component: { name: string } };
  readonly components: readonly { readonly name: string; readonly version: string }[];
}

/** CycloneDX, of the packages that run in production, as npm knows them from the lock file. */
function makeBill(): Bill {
  const bill = JSON.parse(
    run('npm', 'sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only'),
  ) as Bill;
  // npm takes the name of the folder.
  bill.metadata.component.name = json('package.json').name;
  writeFileSync(join(dist, 'sbom.cdx.json'), `${JSON.stringify(bill, undefined, 2)}\n`);
  return bill;
}

/** A package for another system is not installed here: its licence is that of its package for this one, or of the one that names it. */
function described({ name, version }: Bill['components'][number]): Package {
  const system = /-(darwin|linux|windows)-(x64|arm64)$/;
  const path = [name, name.replace(system, `-${process.platform}-${process.arch}`), name.replace(system, '')]
    .map((each) => `node_modules/${each}/package.json`)
    .find((each) => existsSync(join(top, each)));
  return { name, version, licence: path === undefined ? undefined : json(path).license };
}

await build(dist);
const bill = makeBill();
const tag = process.argv[2];
const chart = join(top, 'deploy/chart/Chart.yaml');
const found = findings({
  version: json('package.json').version,
  lock: json('package-lock.json'),
  changelog: readFileSync(join(top, 'CHANGELOG.md'), 'utf8'),
  chart: existsSync(chart) ? readFileSync(chart, 'utf8') : undefined,
  fixtures: globSync('test/fixtures/releases/*/', { cwd: top }).map((path) => basename(path)),
  built: json('dist/package.json'),
  licenceBytes: statSync(join(dist, 'LICENSES.txt'), { throwIfNoEntry: false })?.size ?? 0,
  packages: bill.components.map(described),
  tags: tag === undefined ? run('git', 'tag', '--points-at', 'HEAD').split('\n').filter(Boolean) : [tag],
});
const lines = found.map(({ what, problem }) => (problem === undefined ? `ok  ${what}` : `NO  ${what}: ${problem}`));
process.stdout.write(`${lines.join('\n')}\nok  software bill of materials: dist/sbom.cdx.json\n`);
process.exitCode = found.some(({ problem }) => problem !== undefined) ? 1 : 0;
