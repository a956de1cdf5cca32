// `model-gateway keys`: issues, lists and revokes keys of clients, and makes those of the configuration.
import { parseArgs } from 'node:util';
import { isRole, type Role, roles } from '../../domain/keys/role.ts';
import { digestOf, newSecret } from '../../domain/keys/secret.ts';
import { timestamp } from '../../domain/timestamp.ts';
import { keysYaml } from '../../gitops/cli/keys-yaml.ts';
import { askAdmin, connectionHelp, connectionOptions } from './admin-api.ts';
import type { Outcome } from './commands.ts';

export const keysUsage = 'new NAME | list | issue NAME | revoke ID | rotate ID';
export const keysHelp = `usage: model-gateway keys new NAME [--user-path PATH] [--models A,B] [--role ROLE] [--expires-in 30d]
       model-gateway keys list
       model-gateway keys issue NAME [--user-path PATH] [--models A,B] [--role ROLE] [--expires-in 30d]
       model-gateway keys revoke ID
       model-gateway keys rotate ID

  new      prints a secret, which is shown this once, and below it the entry of the configuration (keys) with its hash; asks no gateway
  list     every key: id, state, user path, name, role, end
  issue    prints a new key, which is shown this once; --user-path binds it to a team or a person, --models to models and aliases, and --role
           lets it use the admin API and the dashboard, as viewer, operator or admin
  revoke   refuses the key everywhere within a second
  rotate   prints a new secret for the key; the old one is refused

  --json   the answer of the admin API; of new: value and entry
${connectionHelp}

exit code: 0 done, 1 the gateway refuses or does not answer, 2 the command itself is wrong`;

const options = {
  ...connectionOptions,
  'user-path': { type: 'string' },
  models: { type: 'string' },
  role: { type: 'string' },
  'expires-in': { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

interface Key {
  readonly id: string;
  readonly name: string;
  readonly user_path?: string;
  readonly active: boolean;
  readonly role?: Role;
  readonly expires_at?: string;
  readonly value?: string;
}

export async function keys(args: readonly string[]): Promise<Outcome> {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [action = '', subject, ...others] = positionals;
  const isKnown =
    action === 'list' ? subject === undefined : ['new', 'issue', 'revoke', 'rotate'].includes(action) && subject;
  if (!isKnown || others.length > 0) return { output: `usage: model-gateway keys ${keysUsage}`, code: 2 };
  if (action === 'new') return { output: declared(subject ?? '', values), code: 0 };
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

interface Issued {
  readonly name: string;
  readonly user_path?: string;
  readonly allowed_models?: string[];
  readonly dashboard_access?: true;
  readonly role?: Role;
  readonly expires_in?: string;
}

function issued(name: string, values: Omit<Values, 'url'>): Issued {
  const { 'user-path': path, models, role, 'expires-in': end } = values;
  if (role !== undefined && !isRole(role))
    throw new Error(`--role must be one of ${roles.join(', ')}, not ${JSON.stringify(role)}`);
  return {
    name,
    ...(path === undefined ? {} : { user_path: path }),
    ...(models === undefined ? {} : { allowed_models: models.split(',').map((each) => each.trim()) }),
    ...(role === undefined ? {} : { dashboard_access: true, role }),
    ...(end === undefined ? {} : { expires_in: end }),
  };
}

/** The secret, and its entry below. The whole is no YAML, so that it is not put into git as it is. */
function declared(name: string, values: Values): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name))
    throw new Error(`NAME must be 1 to 64 letters, digits, dots, underscores or hyphens, not ${JSON.stringify(name)}`);
  const value = newSecret();
  const { name: _, expires_in: length, ...rights } = issued(name, values);
  const end = length === undefined ? {} : { expires_at: endAfter(length) };
  const entry = { name, hash: `sha256:${digestOf(value)}`, ...rights, ...end };
  if (values.json) return JSON.stringify({ value, entry }, null, 2);
  return `${value}\n\n${keysYaml([entry]).trimEnd()}`;
}

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The end of a length that begins now, such as `90d`, in whole seconds. */
function endAfter(length: string): string {
  const [, amount, unit] = /^([1-9][0-9]{0,5})([mhd])$/.exec(length) ?? [];
  if (amount === undefined || unit === undefined)
    throw new Error(`--expires-in must be minutes, hours or days such as 8h or 90d, not ${JSON.stringify(length)}`);
  const ms = Date.now() + Number(amount) * unitMs[unit as keyof typeof unitMs];
  return timestamp(Math.floor(ms / 1000) * 1000);
}

function inWords(action: string, said: unknown): string {
  if (action === 'list') return (said as readonly Key[]).map(lineOf).join('\n');
  const key = said as Key;
  return key.value === undefined ? lineOf(key) : `${lineOf(key)}\n${key.value}`;
}

function lineOf({ id, name, user_path: path = '/', active, role, expires_at: end }: Key): string {
  const further = [role === undefined ? [] : `role ${role}`, end === undefined ? [] : `until ${end}`].flat();
  return [id, active ? 'active' : 'refused', path, name, ...further].join('  ');
}
