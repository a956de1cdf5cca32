// Which ids of clients for their requests are taken as they are. They stand in answers, logs and records.
import { withoutKeys } from './keys/key-shapes.ts';

const acceptable = /^[A-Za-z0-9._-]{1,128}$/;

/** It is short and plain, and no key: some clients send one in any header. */
export function isRequestId(given: string): boolean {
  return acceptable.test(given) && withoutKeys(given) === given;
}
