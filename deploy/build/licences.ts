// The licences of the packages that a build contains, as one text.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** The folder of a package, by the path of one of its files. */
const folder = /^.*node_modules\/(@[^/]+\/)?[^/]+/;

/** `files`: below `top`; those of no package are left out. Throws for a package that has neither a licence nor the name of one. */
export function licencesOf(top: string, files: readonly string[]): string {
  const folders = new Set(files.flatMap((file) => folder.exec(file)?.[0] ?? []));
  const texts = [...folders].map((each) => licenceOf(join(top, each)));
  return `${[...new Set(texts)].toSorted().join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

function licenceOf(path: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Manifest;
  const file = readdirSync(path).find((each) => /^licen[cs]e/i.test(each));
  const text = file === undefined ? undefined : readFileSync(join(path, file), 'utf8').trim();
  if (text === undefined && license === undefined) throw new Error(`the package ${name} has no licence: ${path}`);
  return `${name} ${version} (${license ?? 'see below'})${text === undefined ? '' : `\n\n${text}`}`;
}
