// `model-gateway keys`: issues, lists and revokes keys of clients.
import { parseArgs } from 'node:util';
import { askAdmin, connectionHelp, connectionOptions } from './admin-api.ts';
import type { Outcome } from './commands.ts';

export const keysUsage = 'list | issue NAME | revoke ID | rotate ID';
export const keysHelp = `usage: model-gateway keys list
       model-gateway keys issue NAME [--user-path PATH] [--models A,B] [--expires-in 30d]
       model-gateway keys revoke ID
       model-gateway keys rotate ID

  list     every key: id, name, user path, state
  issue    prints a new key, which is shown this once; --user-path binds it to a team or a person, --models to models and aliases
  revoke   refuses the key everywhere within a second
  rotate   prints a new secret for the key; the old one is refused

  --json   the answer of the admin API
${connectionHelp}

exit code: 0 done, 1 the gateway refuses or does not answer, 2 the command itself is wrong`;

const options = {
  ...connectionOptions,
  'user-path': { type: 'string' },
  models: { type: 'string' },
  'expires-in': { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

interface Key {
  readonly id: string;
  readonly name: string;
  readonly user_path?: string;
  readonly active: boolean;
  readonly expires_at?: string;
  readonly value?: string;
}

export async function keys(args: readonly string[]): Promise<Outcome> {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [action = '', subject, ...others] = positionals;
  const isKnown = action === 'list' ? subject === undefined : ['issue', 'revoke', 'rotate'].includes(action) && subject;
  if (!isKnown || others.length > 0) return { output: `usage: model-gateway keys ${keysUsage}`, code: 2 };
  const said = await act(action, subject ?? '', values);
  return { output: values.json ? JSON.stringify(said, null, 2) : inWords(action, said), code: 0 };
}

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

async function act(action: string, subject: string, { url, ...values }: Values): Promise<unknown> {
  const key = `auth-keys/${encodeURIComponent(subject)}`;
  switch (action) {
    case 'issue':
      return askAdmin(url, { method: 'POST', path: 'auth-keys', body: issued(subject, values) });
    case 'revoke':
      await askAdmin(url, { method: 'POST', path: `${key}/deactivate` });
      return askAdmin(url, { path: key });
    case 'rotate':
      return askAdmin(url, { method: 'POST', path: `${key}/rotate`, body: {} });
    default:
      return askAdmin(url, { path: 'auth-keys' });
  }
}

function issued(name: string, values: Omit<Values, 'url'>): object {
  const { 'user-path': path, models, 'expires-in': end } = values;
  return {
    name,
    ...(path === undefined ? {} : { user_path: path }),
    ...(models === undefined ? {} : { allowed_models: models.split(',').map((each) => each.trim()) }),
    ...(end === undefined ? {} : { expires_in: end }),
  };
}

function inWords(action: string, said: unknown): string {
  if (action === 'list') return (said as readonly Key[]).map(lineOf).join('\n');
  const key = said as Key;
  return key.value === undefined ? lineOf(key) : `${lineOf(key)}\n${key.value}`;
}

function lineOf({ id, name, user_path: path = '/', active, expires_at: end }: Key): string {
  return [id, active ? 'active' : 'refused', path, name, end === undefined ? '' : `until ${end}`].join('  ').trimEnd();
}
