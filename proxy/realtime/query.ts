// The query of a request of the realtime API.
import { pathOf } from '../call/head.ts';

/** Members that no provider is told: the model, which is another one there, and keys of clients. */
const ownMembers: ReadonlySet<string> = new Set([
  'model',
  'api-key',
  'api_key',
  'authorization',
  'access_token',
  'key',
]);

export function queryOf(url: string): URLSearchParams {
  return new URLSearchParams(url.slice(pathOf(url).length + 1));
}

/** What a provider is told of it. */
export function furtherQuery(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => !ownMembers.has(name.toLowerCase())));
}
