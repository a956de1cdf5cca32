// What the schema cannot say about the server section: headers that have another meaning already.
import type { Config } from '../schemas/types.ts';
import { quote } from '../schemas/validation/path.ts';
import type { Problem } from './problem.ts';
import type { Sources } from './sources.ts';

/** A user path read from one of these would show a secret, or be nobody's intention. */
const taken = new Set(
  (
    'authorization connection content-encoding content-length content-type cookie expect host proxy-authorization ' +
    'transfer-encoding x-api-key x-gateway-client-address x-request-id'
  ).split(' '),
);

/** The user path needs a header of its own. */
export function checkServer({ user_path_header: name }: Config['server'], sources: Sources): Problem[] {
  const path = ['server', 'user_path_header'];
  if (!taken.has(name.toLowerCase()) || sources.isUnknown(path)) return [];
  return [
    sources.problem(path, `${quote(name)} has another meaning; use a header of its own, such as X-Gateway-User-Path`),
  ];
}
