// `model-gateway test-of`: a test of the configuration, made of a request that was sent.
import { existsSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { askAdmin, connectionHelp, connectionOptions } from './admin-api.ts';
import type { Outcome } from './commands.ts';

export const testOfUsage = 'ID [--out FILE] [--force] [--url URL]';
export const testOfHelp = `usage: model-gateway test-of ${testOfUsage}

Makes a test of the configuration of one request: what was asked is given, and what became of it is expected. ID is its request id (X-Request-Id), its
id in the audit log, or its X-Gateway-Explain-Id: then what its rules had counted is in the test, too. It holds no secrets and no words of people.
Keep it in the configuration directory, in a file *.test.yaml; model-gateway check DIR --test runs it.

  --out FILE  writes it there; default: prints it
  --force     replaces a file that exists
${connectionHelp}

exit code: 0 done, 1 there is no such request, no test can be made of it, or the gateway does not answer, 2 the command itself is wrong`;

const options = {
  ...connectionOptions,
  out: { type: 'string' },
  force: { type: 'boolean', default: false },
} as const;

/** Of an answer of the admin API. */
export interface AsTest {
  readonly as_test?: string;
}

export async function testOf(args: readonly string[]): Promise<Outcome> {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [id, ...others] = positionals;
  if (id === undefined || others.length > 0) return { output: `usage: model-gateway test-of ${testOfUsage}`, code: 2 };
  const found = (await explained(id, values.url)) ?? (await recorded(id, values.url));
  if (found === undefined) return { output: `there is no request ${id}, neither explained nor recorded`, code: 1 };
  const { as_test: text } = found;
  if (text === undefined)
    return { output: `no test can be made of ${id}: it asks for no model, or what it says has decided`, code: 1 };
  return written(text, values);
}

/** Prints a test, or writes it where it is asked to. */
export function written(
  text: string,
  { out, force = false }: { readonly out?: string | undefined; readonly force?: boolean },
): Outcome {
  if (out === undefined) return { output: text.trimEnd(), code: 0 };
  if (existsSync(out) && !force) return { output: `${out} exists; --force replaces it`, code: 1 };
  writeFileSync(out, text);
  return { output: `written: ${out}`, code: 0 };
}

const unknown = / answered 404: /;

async function explained(id: string, url: string | undefined): Promise<AsTest | undefined> {
  const answer = await known<{ readonly explanation?: AsTest }>(url, `explain/${encodeURIComponent(id)}`);
  return answer?.explanation;
}

async function recorded(id: string, url: string | undefined): Promise<AsTest | undefined> {
  const query = new URLSearchParams({ search: id, limit: '1' });
  const { entries } = (await askAdmin(url, { path: `audit/log?${query.toString()}` })) as {
    entries: readonly { readonly id: string }[];
  };
  const entry = entries[0]?.id ?? id;
  return known<AsTest>(url, `audit/detail?${new URLSearchParams({ log_id: entry }).toString()}`);
}

/** Undefined: there is nothing. */
async function known<Answer>(url: string | undefined, path: string): Promise<Answer | undefined> {
  try {
    return (await askAdmin(url, { path })) as Answer;
  } catch (error) {
    if (error instanceof Error && unknown.test(error.message)) return undefined;
    throw error;
  }
}
