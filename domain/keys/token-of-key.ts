// What is remembered of a token that a key stands for.
import type { Claims } from '../conditions/claim-path.ts';
import type { Identity } from '../identities/identity.ts';
import type { IdentityRights } from '../identities/rights.ts';

/** Of a key that a token of an identity stands for. */
export interface TokenOfKey extends Pick<IdentityRights, 'subject' | 'dashboard' | 'because'> {
  /** As it was when the rights were made. */
  readonly identity: Identity;
  /** Verified; rights are made of them again when the identity changes. */
  readonly claims: Claims;
  /** About the memory that it takes. */
  readonly bytes: number;
}
