// Which values of configuration files may be shown to operators: none that may be a secret, not even one in the wrong place.
import type { Path } from '../../schemas/validation/path.ts';

/** Sections whose texts hold no secrets. */
const openSections: ReadonlySet<unknown> = new Set([
  'admin',
  'aliases',
  'audit',
  'budgets',
  'cache',
  'prices',
  'rate_limits',
  'rollout',
  'server',
  'usage',
]);
/** Members of a provider whose texts hold no secrets. */
const openMembers: ReadonlySet<unknown> = new Set([
  'type',
  'models',
  'dialects',
  'discovery',
  'timeouts',
  'unsupported',
]);
/** Members of a key of a client whose texts hold no secrets. */
const openKeyMembers: ReadonlySet<unknown> = new Set([
  'name',
  'description',
  'user_path',
  'labels',
  'allowed_models',
  'expires_at',
]);
/** Members of any other entry. */
const openNames: ReadonlySet<unknown> = new Set([
  'name',
  'action',
  'mode',
  'kind',
  'kinds',
  'user_paths',
  'path',
  'scope',
  'on',
  'roles',
  'models',
  'model',
  'fail',
  'when_above',
  'allowed_tools',
]);
/** A key with such a name is hidden wherever it stands. */
const closed = /secret|password|passwd|credential|authori[sz]ation|cookie|header|api_?key|apikey|_url$|^url$|dsn/i;

/** Whether a value at a path of a file, as it is written, may be shown. Numbers and switches always may. */
export function maySayText(path: Path, value: unknown): boolean {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return true;
  if (path.some((part) => typeof part === 'string' && closed.test(part))) return false;
  const [section] = path;
  if (openSections.has(section)) return true;
  if (section === 'providers') return openMembers.has(path[2]);
  if (section === 'keys') return openKeyMembers.has(path[2]);
  return path.length > 1 && openNames.has(path.findLast((part) => typeof part === 'string'));
}
