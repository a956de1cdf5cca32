// Checks of the sign-ins of identities that the schema cannot express: addresses, the secret of the client, and how long a session lasts.
import { sessionMs } from '../../domain/keys/session.ts';
import { durationMs } from '../../schemas/formats/units.ts';
import type { Config } from '../../schemas/types.ts';
import type { Sources } from '../assemble/sources.ts';
import { isOwnVariable } from '../read/expand.ts';
import type { Problem } from '../read/problem.ts';

/** Hosts of this machine, as `new URL` writes them. */
const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

export function checkSignIns(identities: Config['identities'], sources: Sources): Problem[] {
  return Object.entries(identities).flatMap(([name, { sign_in: signIn }]) => {
    if (signIn === undefined) return [];
    const found: Problem[] = [];
    const check = (member: string, problem: string | undefined): void => {
      const path = ['identities', name, 'sign_in', member];
      if (problem !== undefined && !sources.isUnknown(path)) found.push(sources.problem(path, problem));
    };
    const { public_url: url, client_secret: secret, client_secret_file: file, scopes, lasts } = signIn;
    const areKnown = !scopes.some((_, index) => sources.isUnknown(['identities', name, 'sign_in', 'scopes', index]));
    if (areKnown && !scopes.includes('openid'))
      check('scopes', 'misses openid, without which the provider says nothing of who it is');
    check('public_url', problemOfOrigin(url));
    if (secret !== undefined && isOwnVariable(secret.slice(2, -1)))
      check('client_secret', 'refers to a variable of the gateway itself, which no provider may learn');
    if (secret !== undefined && file !== undefined)
      check('client_secret_file', 'stands beside client_secret; a client has one of the two');
    if (!sources.isUnknown(['identities', name, 'sign_in', 'lasts']) && durationMs(lasts) > sessionMs)
      check('lasts', 'is more than 12h, the most that a session lasts');
    return found;
  });
}

/** The provider sends people back to it with what opens a session: nobody on the way may read that. */
function problemOfOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || /[\s\\]/.test(text)) return 'is not a URL; expected something like "https://gateway.example.com"';
  const isLocal = loopback.test(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal))
    return 'must begin with https://; http:// is for a gateway on this machine only';
  if (url.username !== '' || url.password !== '') return 'must not hold credentials';
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return 'must be an origin without a path: the dashboard is at /admin/dashboard below it';
  return undefined;
}
