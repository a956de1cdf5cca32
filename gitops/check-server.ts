// Checks of the server section that the schema cannot express: a header for the user path has no other meaning.
import type { Config } from '../schemas/types.ts';
import { quote } from '../schemas/validation/path.ts';
import type { Problem } from './problem.ts';
import type { Sources } from './sources.ts';

/** Headers with another meaning. Some hold a secret, which a user path would show. */
const taken = new Set(
  (
    'api-key authorization connection content-encoding content-length content-type cookie expect host proxy-authorization ' +
    'transfer-encoding x-api-key x-gateway-client-address x-request-id'
  ).split(' '),
);

/** Checks that the header of the user path is not one of `taken`. */
export function checkServer({ user_path_header: name }: Config['server'], sources: Sources): Problem[] {
  const path = ['server', 'user_path_header'];
  if (!taken.has(name.toLowerCase()) || sources.isUnknown(path)) return [];
  return [
    sources.problem(path, `${quote(name)} has another meaning; use a header of its own, such as X-Gateway-User-Path`),
  ];
}
