// The consumer a request names for itself: the user path header, in the one form all of the gateway compares.
import { isUtf8 } from 'node:buffer';
import { normaliseUserPath } from '../../domain/user-path.ts';
import { refusal } from '../errors.ts';

/**
 * The normalised path of a header value; `/` without one. Node hands header bytes over as latin1, clients write UTF-8.
 * Throws 400 `invalid_user_path`.
 */
export function readUserPath(value: string | undefined): string {
  if (value === undefined) return '/';
  const { path, problem } = normaliseUserPath(decode(value));
  if (problem !== undefined) throw refusal('invalid_user_path', { fill: { reason: problem } });
  return path;
}

function decode(value: string): string {
  if (/^[ -~]*$/.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  if (!isUtf8(bytes)) throw refusal('invalid_user_path', { fill: { reason: 'is not UTF-8' } });
  return bytes.toString('utf8');
}
