// Makes the base URL of a provider from an address as others write it: without the version, with an endpoint, with a secret in it.
import { defaultAddresses, type ProviderType } from '../../schemas/provider-addresses.ts';
import { hostKind } from '../check/address-kind.ts';

export interface Address {
  /** Absent: the address of the type. */
  readonly base_url?: string | undefined;
  /** Its host, as far as it is known; empty for the address of the type, and for one in a variable. */
  readonly host: string;
  /** Whether it is known to lie in a network of one's own. */
  readonly isPrivate: boolean;
  /** What was left out of it. */
  readonly removed: readonly string[];
}

/** What the gateway adds itself. */
const endpoint = /\/(?:(?:chat\/)?completions|embeddings|responses|messages|deployments\/[^/]+)\/*$/i;
/** A version of the API, anywhere in the path. */
const version = /\/v\d/;
/** Names that only a network of one's own knows. */
const localName = /^[a-z0-9-]+$|\.(?:local|lan|internal|intranet|corp|home|svc|cluster\.local|svc\.[a-z0-9.-]+)$/i;

/** The address in a variable, which holds what others expect: for some types it lacks the end of the path. */
export function variableAddress(type: ProviderType, reference: string, query = ''): Address {
  const path = isVersionAdded(type) ? new URL(defaultAddresses[type] ?? 'http://none').pathname : '';
  return { base_url: `${reference}${path}${query}`, host: '', isPrivate: false, removed: [] };
}

/** Whether addresses of this type are written without the version elsewhere. */
function isVersionAdded(type: ProviderType): boolean {
  return type === 'anthropic' || type === 'ollama' || type === 'gemini';
}

/** Undefined: it is no address. `query`: added, such as the API version of Azure. */
export function literalAddress(type: ProviderType, text: string, query = ''): Address | undefined {
  const url = URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined;
  const removed: string[] = [];
  if (url.username !== '' || url.password !== '') removed.push('the credentials');
  if (url.search !== '') removed.push('the query');
  if (url.hash !== '') removed.push('the fragment');
  let path = url.pathname.replace(/\/+$/, '');
  for (let found = endpoint.exec(path); found !== null; found = endpoint.exec(path)) {
    removed.push(`the path of an endpoint`);
    path = path.slice(0, found.index);
  }
  const usual = URL.parse(defaultAddresses[type] ?? '');
  const lacksVersion = usual !== null && version.test(usual.pathname) && !version.test(path);
  if (lacksVersion && (url.host === usual.host || isVersionAdded(type))) path = usual.pathname;
  const base = `${url.protocol}//${url.host}${path}`;
  if (query === '' && base === defaultAddresses[type]) return { host: '', isPrivate: false, removed };
  // A slash says that the API is at the top.
  const top = path === '' && query === '' ? '/' : '';
  const isOwn = hostKind(url.hostname) === 'open' && /^(localhost|127\..*|\[::1\])$/.test(url.hostname);
  return {
    base_url: literalPart(`${base}${top}${query}`),
    host: url.hostname,
    isPrivate: !isOwn && (hostKind(url.hostname) === 'private' || localName.test(url.hostname)),
    removed,
  };
}

/** A dollar sign that the address has itself; `${NAME}` in the query stays a variable. */
function literalPart(text: string): string {
  return text.replaceAll(/\$(?!\{)/g, '$$$$');
}
