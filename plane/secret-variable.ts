// A variable that holds a secret: the value itself, or, under the name with _FILE, a file that holds it.
import { readKeyFileSync } from '../gitops/key-file.ts';

/** The secret of `name`; undefined: neither is set, or a problem says what is wrong. `get`: undefined for an unset variable. */
export function readSecret(
  name: string,
  get: (name: string) => string | undefined,
  problems: string[],
): string | undefined {
  const value = get(name);
  const path = get(`${name}_FILE`);
  if (path === undefined) return value;
  if (value !== undefined) problems.push(`${name} and ${name}_FILE are both set; set one of them`);
  const reading = readKeyFileSync(path);
  if ('key' in reading) return reading.key;
  problems.push(`${name}_FILE names a file that ${reading.trouble}`);
  return undefined;
}
