// The configuration of a local start: that of the folder, else that of the quick start.
import { cpSync, existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const own = './config';

/**
 * The directory to start with. `top`: the repository, or an installed package. An installed package is not for editing: the files of the
 * quick start are copied from it to `./config` then.
 */
export function findStartConfig(top: string): string {
  if (statSync(own, { throwIfNoEntry: false })?.isDirectory() === true) return own;
  const quickstart = join(top, 'examples/quickstart/config');
  if (existsSync(join(top, 'tsconfig.json'))) return relative(process.cwd(), quickstart);
  cpSync(quickstart, own, { recursive: true });
  for (const name of globSync('*.yaml', { cwd: own })) {
    const file = join(own, name);
    // Editors find the schema by its path.
    const schemas = relative(resolve(own), join(top, 'schemas'));
    writeFileSync(file, readFileSync(file, 'utf8').replace('$schema=../../../schemas', `$schema=${schemas}`));
  }
  return own;
}
