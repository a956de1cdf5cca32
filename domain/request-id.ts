// Decides which request ids of clients are used unchanged. They appear in answers, logs and records.
import { withoutKeys } from '../schemas/formats/key-shapes.ts';

const acceptable = /^[A-Za-z0-9._-]{1,128}$/;

/** It is short and plain, and no key: some clients send one in any header. */
export function isRequestId(given: string): boolean {
  return acceptable.test(given) && withoutKeys(given) === given;
}
