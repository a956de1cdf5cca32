// What a source of renewed credentials is: an identity that a cloud gives to this machine, in place of a key that somebody keeps. What
// renews them (when, how often, and what holds meanwhile) is the same for all clouds and stands elsewhere in this folder.
import type { AwsCredentials } from '../../domain/keys/aws-key.ts';
import type { Variables } from '../../schemas/variables.ts';

/** What a provider accepts for some time: sent as `Authorization: Bearer`, or used to sign each request. */
export type Credential =
  | { readonly kind: 'bearer'; readonly token: string }
  | { readonly kind: 'aws'; readonly credentials: AwsCredentials };

export interface IssuedCredential {
  readonly credential: Credential;
  /** When it ends, by the clock of its issuer. Unix milliseconds; undefined: it has no end, as a key from the environment. */
  readonly expiresAtMs: number | undefined;
  /**
   * What the issuer's clock said when it answered, such as its `Date` header. Unix milliseconds. Absent: unknown, and `expiresAtMs` is read by our own clock.
   * A source whose issuer says how long a token lives gives `expiresAtMs` as this time plus that life.
   */
  readonly issuerNowMs?: number | undefined;
  /** Whom it stands for, as operators may see it: an ARN, an e-mail address, a client id. Never a secret. Absent: unknown. */
  readonly principal?: string | undefined;
}

/** Where credentials come from. It keeps none and plans nothing: that is done once for all sources. */
export interface TokenSource {
  /** For people, in one line without secrets: `AWS role arn:aws:iam::123456789012:role/gateway`. */
  describe(): string;
  /**
   * Asks for a new credential, never for one that it kept. Loads the package of its cloud at the first call. Rejects with an error whose
   * message says what to do and holds no secret; `signal` ends the question.
   */
  fetch(signal: AbortSignal): Promise<IssuedCredential>;
}

/** What sources of tokens are made with. */
export interface SourceParts {
  /** The environment, which says who this machine is. */
  readonly variables: Variables;
  /** The wall clock, by which the packages of vendors count. Unix milliseconds. */
  readonly wallMs: () => number;
  /** What a package sends its requests with. Absent: `vendorFetch`. */
  readonly fetch?: typeof fetch;
}
