// Where a path of a client leads at a provider: always below its base path. Nothing is resolved here; what a server could resolve is refused.
import { refusal } from '../../errors.ts';
import type { Base } from '../../providers/paths.ts';

/** The path that a client asks for behind `/p/`. */
export interface ProviderPath {
  /** As it is written. */
  readonly provider: string;
  /** Below the base path, without a slash at its beginning and without the version. */
  readonly endpoint: string;
  /** The path as a provider reads it: without escapes, and without a slash at its end. */
  readonly read: string;
  /** Without `?`; empty: none. */
  readonly query: string;
}

const prefix = '/p/';
/** Longest name of a provider in a path; configured names are shorter. Characters. */
const longestProvider = 100;
/** Parameters by which clients of some providers send their key. */
const credentials = ['key', 'api_key', 'api-key', 'apikey', 'access_token'] as const;
/** Parameters by which a request asks to be taken for one of another method, or with other headers. */
const overrides = ['_method', '$httpmethod', '$httpheaders', '$req'] as const;
const notPassed: ReadonlySet<string> = new Set([...credentials, ...overrides]);

/**
 * Reads the target of a request, whose path is ASCII and whose escapes are valid. `%2F` counts as a slash, once; a version at the beginning
 * (`v1/`, Google's `v1beta/`) is taken off, once: that of the base URL counts. Throws 400 `invalid_path` for a path that some server could understand as one elsewhere.
 */
export function readProviderPath(url: string): ProviderPath {
  const [path = '', ...rest] = url.split('?');
  const [provider = '', ...behind] = path.slice(prefix.length).split('/');
  if (provider === '' || provider.length > longestProvider) throw unacceptable('it must begin with /p/{provider}/');
  const segments = behind.join('/').replaceAll(/%2f/gi, '/').split('/');
  if (segments[0] === 'v1' || segments[0] === 'v1beta') segments.shift();
  for (const [index, segment] of segments.entries()) checkSegment(segment, index === segments.length - 1);
  const endpoint = segments.join('/');
  if (endpoint === '') throw unacceptable('there is no endpoint behind the provider');
  const read = decodeURIComponent(endpoint).replace(/\/$/, '');
  return { provider, endpoint: endpoint.replaceAll('#', '%23'), read, query: rest.join('?').replaceAll('#', '%23') };
}

/** The path and query to send, those of the base URL included; the credentials of clients, and what would make another request of it, are taken out. */
export function pathBelow({ basePath, query: own }: Base, { endpoint, query }: ProviderPath): string {
  const ownParameters = own.slice(1);
  const taken = new Set(ownParameters.split('&').map(nameOf));
  const parameters = query.split('&').filter((parameter) => {
    const name = nameOf(parameter);
    return parameter !== '' && !notPassed.has(name) && !taken.has(name);
  });
  const all = ownParameters === '' ? parameters : [...parameters, ownParameters];
  return `${basePath}/${endpoint}${all.length === 0 ? '' : `?${all.join('&')}`}`;
}

/** A segment between two slashes. Only the last one may be empty. */
function checkSegment(segment: string, isLast: boolean): void {
  if (segment === '' && !isLast) throw unacceptable('it has two slashes in a row');
  const text = decodeURIComponent(segment);
  if (/\p{Cc}/u.test(text)) throw unacceptable('it has a control character');
  if (text.includes('\\')) throw unacceptable('it has a backslash');
  // Some servers cut parameters off before they resolve dots.
  const [name = ''] = text.split(';');
  if (name === '.' || name === '..') throw unacceptable('it has a dot segment');
}

/** The name of a parameter, in lower case; one that cannot be decoded is as it is written. */
function nameOf(parameter: string): string {
  const name = (parameter.split('=', 1)[0] ?? '').replaceAll('+', ' ');
  try {
    return decodeURIComponent(name).trim().toLowerCase();
  } catch {
    return name.toLowerCase();
  }
}

function unacceptable(reason: string): Error {
  return refusal('invalid_path', { fill: { reason } });
}
