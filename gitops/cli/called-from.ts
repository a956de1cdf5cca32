// Where a command was called: npm runs scripts in the directory of their package.
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Variables } from '../../schemas/variables.ts';

/** The directory of the caller, which npm tells in INIT_CWD to the script of this name. */
export function calledFrom(environment: Variables, script: string): string {
  const caller = environment['npm_lifecycle_event'] === script ? environment['INIT_CWD'] : undefined;
  return caller ?? process.cwd();
}

/** The path as messages show it: relative to the caller, with slashes; unchanged when it is absolute and elsewhere. */
export function showPath(from: string, given: string): string {
  const whole = resolve(from, given);
  if (!isInside(whole, from) && isAbsolute(given)) return join(given, '.');
  const path = relative(from, whole);
  return path === '' ? '.' : path.replaceAll(sep, '/');
}

export function isInside(path: string, top: string): boolean {
  const way = relative(top, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
