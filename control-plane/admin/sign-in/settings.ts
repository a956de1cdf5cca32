// What the configuration says about signing in, in the form that the routes use.
import type { Claims } from '../../../domain/conditions/claim-path.ts';
import type { Cause } from '../../../domain/identities/identity.ts';
import type { Person } from '../../../domain/keys/person.ts';

/** How the gateway is known to an identity provider. */
export interface ProviderSettings {
  readonly issuer: string;
  /** Whether its addresses may be in a private network. */
  readonly allowPrivate: boolean;
  readonly clientId: string;
  /** Undefined: a public client. */
  readonly clientSecret: string | undefined;
  readonly scopes: readonly string[];
  /** Of the signature of the ID token. */
  readonly algorithms: readonly string[];
  /** Seconds. */
  readonly clockSkewS: number;
  /** Whether the claims of its userinfo endpoint are asked for, too. */
  readonly hasUserInfo: boolean;
}

/** An identity that people can sign in with. */
export interface SignIn {
  readonly name: string;
  /** On the button. */
  readonly title: string;
  /** The origin under which browsers reach the gateway. */
  readonly publicUrl: string;
  /** How long a session lasts. Milliseconds. */
  readonly lastsMs: number;
  /** Rejects with words for the operator when the secret cannot be had. */
  provider(): Promise<ProviderSettings>;
  /** The person with its rights, or in words why it has none. */
  personOf(claims: Claims): Granted | string;
}

export interface Granted {
  readonly person: Person;
  /** The entry and the claims that its role comes from. */
  readonly because: Cause | undefined;
}

/** By name. */
export type SignIns = ReadonlyMap<string, SignIn>;
