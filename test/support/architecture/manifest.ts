// package.json, as far as rules of the house look at it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { top } from './source-files.ts';

export const manifest = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'devDependencies' | 'scripts',
  Record<string, string>
>;
