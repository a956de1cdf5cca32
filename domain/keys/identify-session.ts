// Finds the caller of a browser's session: by the key it was begun with, or by the person who has signed in.
import { type Caller, type Credentials, identifyDigest } from './credentials.ts';
import { keyOfPerson, type Person } from './person.ts';
import type { Session } from './session.ts';

/** Whether the configuration in force still gives a person what its session says. */
export type PeopleInForce = (person: Person) => boolean;

/** There are none. */
export const noPeople: PeopleInForce = () => false;

/** Undefined: the key is not valid any more, or the person has these rights no longer. `nowMs`: Unix milliseconds. */
export function identifySession(
  { digest, person }: Pick<Session, 'digest' | 'person'>,
  credentials: Credentials,
  { people = noPeople, nowMs }: { readonly people?: PeopleInForce | undefined; readonly nowMs: number },
): Caller | undefined {
  if (person === undefined) return identifyDigest(digest, credentials, nowMs);
  return people(person) ? { kind: 'person', key: keyOfPerson(person) } : undefined;
}
