// Checks of providers that are asked with the credentials of clients (`auth: client`): what needs a key of the gateway cannot stand beside it.
import type { Provider } from '../../schemas/types.ts';
import { type Path, quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';

/** Headers that hold a credential at some type of provider. */
const credentials: ReadonlySet<string> = new Set(['x-api-key', 'api-key', 'x-goog-api-key']);

export function checkClientAuth(name: string, provider: Provider, sources: Sources): Problem[] {
  const { auth, type, models, probe, headers } = provider;
  if (auth !== 'client') return [];
  const problems: Problem[] = [];
  const add = (at: Path, message: string): void => {
    problems.push(sources.problem(['providers', name, ...at], message, 'key'));
  };
  if (type === 'bedrock') add(['auth'], `client is not for ${quote(type)}, whose requests are signed`);
  if (models === undefined) add(['auth'], 'client needs models beside it: without a key nobody can ask for the list');
  if (probe !== undefined) add(['probe'], 'needs a key of the gateway, and auth: client has none; remove it');
  for (const header of Object.keys(headers))
    if (credentials.has(header.toLowerCase()))
      add(['headers', header], 'holds a credential, and with auth: client that comes from the client; remove it');
  return problems;
}
