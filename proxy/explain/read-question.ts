// Reads the query of GET /admin/explain.
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import type { Credentials } from '../../domain/keys/credentials.ts';
import { normaliseUserPath } from '../../domain/user-path.ts';
import type { NamingEndpoint } from '../endpoints/naming-endpoint.ts';
import { type Refusal, refusal } from '../errors.ts';
import { type Question, sees } from './question.ts';

const names = [
  'user_path',
  'model',
  'endpoint',
  'key_id',
  'stream',
  'thread',
  'input_tokens',
  'tools',
  'images',
] as const;
type Name = (typeof names)[number];

/** As long as a model may be in a body, and a thread in a header. Characters. */
const longest = 1024;

/** Who asks, and when. */
export interface Asker extends Pick<Question, 'scope' | 'nowMs' | 'authorityMs'> {
  /** The keys in force. */
  readonly credentials: Pick<Credentials, 'keys'>;
  /** The key of a token that is remembered, by its id; absent: none is. */
  readonly tokenKeyOf?: (id: string) => AuthKey | undefined;
  /** By their paths. */
  readonly endpoints: ReadonlyMap<string, NamingEndpoint>;
}

/**
 * The question of a query (without its `?`). Throws 400 `invalid_query` naming the parameter, 404 `auth_key_not_found`, and 403
 * `admin_scope_denied` for a user path that the operator may not see.
 */
export function readQuestion(query: string, { credentials, endpoints, tokenKeyOf, ...asker }: Asker): Question {
  const { scope } = asker;
  const { given, headers } = parametersOf(query);
  const { model, key_id: keyId, stream = 'false', thread, tools } = given;
  if (model === undefined || model === '') throw invalid('model', 'is missing: name a model or an alias');
  for (const [name, value] of Object.entries(given))
    if (value.length > longest) throw invalid(name, `is longer than ${longest} characters`);
  const inputTokens = given.input_tokens === undefined ? undefined : countOf('input_tokens', given.input_tokens);
  const needed = inputTokens === undefined ? undefined : { most: inputTokens, fewest: inputTokens, answer: 0 };
  if (stream !== 'true' && stream !== 'false') throw invalid('stream', 'must be true or false');
  if (given.images !== undefined && given.images !== 'true' && given.images !== 'false')
    throw invalid('images', 'must be true or false');
  const endpoint = given.endpoint === undefined ? undefined : endpointAt(given.endpoint, endpoints);
  const { path: userPath, problem } = normaliseUserPath(given.user_path ?? scope);
  if (userPath === undefined) throw invalid('user_path', problem);
  if (!sees({ scope }, userPath))
    throw refusal('admin_scope_denied', { fill: { what: `see the user path ${userPath}` } });
  const key = keyId === undefined ? undefined : (keyOf(keyId, credentials) ?? tokenKeyOf?.(keyId));
  if (keyId !== undefined && (key === undefined || !sees({ scope }, key.userPath ?? '/'))) {
    throw refusal('auth_key_not_found', { fill: { id: keyId } });
  }
  const said = {
    ...(tools === undefined ? {} : { tools: countOf('tools', tools) }),
    ...(given.images === undefined ? {} : { images: given.images === 'true' }),
    headers,
  };
  const isStream = stream === 'true';
  return { userPath, model, endpoint, stream: isStream, thread, inputTokens, needed, key, said, ...asker };
}

function countOf(name: Name, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw invalid(name, 'must be a whole number');
  return Number(text);
}

/** `header[x-tier]`. */
const headerParameter = /^header\[([!#$%&'*+.^_`|~0-9A-Za-z-]{1,128})\]$/;

interface Parameters {
  readonly given: Partial<Record<Name, string>>;
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
}

function parametersOf(query: string): Parameters {
  const found: Partial<Record<Name, string>> = {};
  const headers = new Map<string, string>();
  for (const [given, value] of new URLSearchParams(query)) {
    const header = headerParameter.exec(given)?.[1]?.toLowerCase();
    const name = names.find((each) => each === given);
    if (header === undefined && name === undefined)
      throw invalid(given, `is unknown; known are ${names.join(', ')}, header[NAME]`);
    if ((name !== undefined && found[name] !== undefined) || (header !== undefined && headers.has(header)))
      throw invalid(given, 'is given more than once');
    if (header !== undefined) headers.set(header, value);
    else if (name !== undefined) found[name] = value;
  }
  return { given: found, headers };
}

function endpointAt(path: string, endpoints: Asker['endpoints']): NamingEndpoint {
  const found = endpoints.get(path);
  if (found !== undefined) return found;
  const [first, ...others] = endpoints.keys();
  throw invalid('endpoint', [`must be one of ${first}`, ...others]);
}

function keyOf(id: string, { keys }: Asker['credentials']): AuthKey | undefined {
  for (const key of keys.values()) if (key.id === id) return key;
  return undefined;
}

function invalid(name: string, problem: string | readonly string[]): Refusal {
  return refusal('invalid_query', { param: name, fill: { name: JSON.stringify(name), problem } });
}
