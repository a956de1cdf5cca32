// A person who has signed in at an identity provider: what the session of a browser keeps of it, and the key that stands for it.
import { type AuthKey, authKey } from './auth-key.ts';
import { isRole, type Role } from './role.ts';
import { digestOf } from './secret.ts';

/** What a session keeps: the rights that the claims gave, not the claims, which may be larger than a cookie. */
export interface Person {
  /** The name of the identity in the configuration. */
  readonly identity: string;
  /** The claim `sub`. */
  readonly subject: string;
  /** The e-mail or the name, for people. */
  readonly name: string;
  readonly role: Role;
  /** The person sees and changes this user path and those below it. */
  readonly userPath: string;
  /** Those that it may grant to keys; empty: every model. */
  readonly allowedModels: readonly string[];
  /** Of the settings that gave these rights: with others, the person has to sign in again. */
  readonly rightsRevision: string;
}

/** How records, the audit and the log name a person. */
export function personId({ identity, subject }: Pick<Person, 'identity' | 'subject'>): string {
  return `${identity}:${subject}`;
}

/** Stands for the person where a session holds the digest of a key; no secret has it. */
export function personDigest(person: Pick<Person, 'identity' | 'subject'>): string {
  return digestOf(`person ${personId(person)}`);
}

/** The members in the order of `Person`. */
export function personText(person: Person): string {
  const { identity, subject, name, role, userPath, allowedModels, rightsRevision } = person;
  return JSON.stringify([identity, subject, name, role, userPath, rightsRevision, ...allowedModels]);
}

/** Undefined for a text that `personText` did not write. */
export function readPerson(text: string): Person | undefined {
  const members = membersOf(text);
  if (members === undefined || members.length < 6) return undefined;
  const [identity = '', subject = '', name = '', role, userPath = '', rightsRevision = '', ...allowedModels] = members;
  return isRole(role) ? { identity, subject, name, role, userPath, rightsRevision, allowedModels } : undefined;
}

function membersOf(text: string): readonly string[] | undefined {
  try {
    const members: unknown = JSON.parse(text);
    return Array.isArray(members) && members.every((each) => typeof each === 'string') ? members : undefined;
  } catch {
    return undefined;
  }
}

/** A key with the rights of the person, which is stored nowhere and has no secret: it opens the admin API and asks no model. */
export function keyOfPerson(person: Person): AuthKey {
  return authKey({
    id: personId(person),
    name: person.name,
    description: undefined,
    userPath: person.userPath === '/' ? undefined : person.userPath,
    anyUserPath: false,
    labels: [],
    allowedModels: person.allowedModels,
    role: person.role,
    digest: personDigest(person),
    redactedValue: '',
    enabled: true,
    expiresAtMs: Number.POSITIVE_INFINITY,
    deactivatedAtMs: undefined,
    createdAtMs: 0,
    updatedAtMs: 0,
    createdBy: 'identity',
  });
}
