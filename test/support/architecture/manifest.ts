// package.json, as far as rules of the house look at it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { top } from './source-files.ts';

type Manifest = Record<'dependencies' | 'optionalDependencies' | 'devDependencies' | 'scripts', Record<string, string>>;

const read = (file: string): Manifest => JSON.parse(readFileSync(join(top, file), 'utf8')) as Manifest;

export const manifest = read('package.json');

/** The packages that tests alone use, with their versions. */
export const testPackages = read('test/package.json').devDependencies;
