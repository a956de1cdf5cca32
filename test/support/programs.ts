// Programs that tests start: found on PATH, as a shell would, or where Debian keeps those of PostgreSQL.
import { accessSync, constants, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of a program; undefined when it is not there. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return [...folders, ...globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed()]
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** The path of a program. A test that needs a program and has none fails: skipping it would hide what it is for. */
export function needProgram(name: string, debianPackage: string = name): string {
  const path = findProgram(name);
  if (path !== undefined) return path;
  throw new Error(
    `${name} is not on PATH, and this test needs a real one; on Debian: apt-get install ${debianPackage}`,
  );
}
