// The people who have signed in: whether the configuration in force still gives them what their sessions say.
import type { Identity as WrittenIdentity } from '../../schemas/types.ts';
import type { PeopleInForce } from '../keys/identify-session.ts';
import { digestOf } from '../keys/secret.ts';

/**
 * Of the settings that decide who a person is and what it may do. The claims are not kept, so with other settings they cannot be looked at again:
 * the person has to sign in.
 */
export function rightsRevision(written: WrittenIdentity): string {
  const { issuer, required_claims, user_path, allowed_models, rights, sign_in } = written;
  const who = [issuer, sign_in?.client_id, sign_in?.scopes, sign_in?.user_info, sign_in?.lasts];
  return digestOf(JSON.stringify([who, required_claims, user_path, allowed_models, rights])).slice(0, 16);
}

/** The variable with the secret of the gateway at an identity provider: `OIDC_SECRET` for `${OIDC_SECRET}`, as the schema demands it. */
export function secretVariable({ sign_in }: Pick<WrittenIdentity, 'sign_in'>): string | undefined {
  return sign_in?.client_secret?.slice(2, -1);
}

/** Of the identities that people can sign in with. Who is denied is out at once. */
export function peopleInForce(identities: Readonly<Record<string, WrittenIdentity>>): PeopleInForce {
  const known = new Map(
    Object.entries(identities)
      .filter(([, { sign_in }]) => sign_in !== undefined)
      .map(([name, written]) => [
        name,
        { revision: rightsRevision(written), denied: new Set(written.deny.subjects) } as const,
      ]),
  );
  return ({ identity, subject, rightsRevision: revision }) => {
    const found = known.get(identity);
    return found?.revision === revision && !found.denied.has(subject);
  };
}
