// The fixtures of configurations, and short ways to load a text: for the tests of loading.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Loaded, loadFiles } from '../../gitops/assemble/load.ts';
import type { LoadContext } from '../../gitops/assemble/load-context.ts';
import { formatProblem, type Problem } from '../../gitops/read/problem.ts';
import { readDirectory, type SourceFile } from '../../gitops/read/read.ts';
import { loadFormCompiler } from '../../schemas/validation/answer-form.ts';
import { loadExpressionParser } from '../../schemas/validation/parse-expression.ts';

// As `load` does for who loads files.
await loadFormCompiler();
await loadExpressionParser();

const fixtures = join(import.meta.dirname, '../fixtures/config');
export const canary = 'sk-canary-key';
export const environment = { OPENAI_API_KEY: canary, KEY_WITH_NEWLINE: `${canary}\n`, EMPTY: '' };
export const bare: LoadContext = { environment, variables: 'error', entitlements: new Set() };
export const entitled: LoadContext = { ...bare, entitlements: new Set(['quota_templates']) };

export const file = (name: string, text: string | Uint8Array): SourceFile => ({
  name,
  path: name,
  bytes: Buffer.from(text),
});
export const one = (text: string | Uint8Array, context = entitled): Loaded =>
  loadFiles([file('a.yaml', text)], context);
export const lines = (problems: readonly Problem[]): string[] => problems.map(formatProblem);
export const provider = `providers:\n  openai:\n    type: openai\n    api_key: \${OPENAI_API_KEY}\n    models: [gpt-4o]\n`;

/** The files of one case, with the case itself as their folder; `expected` reads a file of what must come out. */
export async function readCase(
  kind: string,
  name: string,
): Promise<{ files: SourceFile[]; problems: Problem[]; expected: (file: string) => string }> {
  const directory = join(fixtures, kind, name);
  const { files, problems } = await readDirectory(directory);
  const expected = (wanted: string): string =>
    existsSync(join(directory, wanted)) ? readFileSync(join(directory, wanted), 'utf8') : '';
  return { files: files.map(({ name: shown, bytes }) => ({ name: shown, path: shown, bytes })), problems, expected };
}

/** The names of all cases of a kind. */
export const casesOf = (kind: 'good' | 'bad'): string[] => readdirSync(join(fixtures, kind));

/** Every place in a value, inner nodes included. */
export function pathsOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path];
  const keys = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value);
  return [
    ...(path.length > 0 ? [path] : []),
    ...keys.flatMap((key) => pathsOf((value as Record<string | number, unknown>)[key], [...path, key])),
  ];
}

/** What a change at that place is judged with: its part of the configuration, and the providers that others name. */
export function around(config: object, [part]: readonly (string | number)[]): object {
  return Object.fromEntries(Object.entries(config).filter(([name]) => name === part || name === 'providers'));
}

/** A copy in which another value stands at the path; `undefined` removes what stands there. */
export function withValue(root: unknown, path: readonly (string | number)[], value: unknown): unknown {
  const copy = structuredClone(root);
  let at = copy as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) at = at[key] as Record<string | number, unknown>;
  const last = path.at(-1) ?? '';
  if (value === undefined && !Array.isArray(at)) delete at[last];
  else at[last] = value;
  return copy;
}

/** Problems as a text file: each ends with a line feed. */
export const problemLines = (problems: readonly Problem[]): string =>
  lines(problems)
    .map((line) => `${line}\n`)
    .join('');
