// Decides which request ids of clients are used unchanged. They appear in answers, logs and records.
import { withoutKeys } from '../schemas/formats/key-shapes.ts';

const acceptable = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Whether a request id of a client is used unchanged: 1 to 128 letters, digits, dots, hyphens and underscores, and not
 * shaped like an API key, because some clients send their key in any header.
 */
export function isRequestId(given: string): boolean {
  return acceptable.test(given) && withoutKeys(given) === given;
}
