// The identities of the configuration that people can sign in with.
import type { Claims } from '../../../domain/conditions/claim-path.ts';
import { type Identity, identityOf } from '../../../domain/identities/identity.ts';
import { rightsRevision, secretVariable } from '../../../domain/identities/people.ts';
import { rightsOf } from '../../../domain/identities/rights.ts';
import type { Person } from '../../../domain/keys/person.ts';
import { readKeyFile } from '../../../gitops/read/key-file.ts';
import { durationMs } from '../../../schemas/formats/units.ts';
import type { SignInSettings, Identity as WrittenIdentity } from '../../../schemas/types.ts';
import type { Variables } from '../../../schemas/variables.ts';
import type { Granted, SignIn, SignIns } from './settings.ts';

type Written = Readonly<Record<string, WrittenIdentity>>;

/** By the configuration they are made of: anybody may ask for the login page. */
const known = new WeakMap<Written, SignIns>();

/** `variables`: of the environment of this process, for secrets. Throws as `identityOf` does. */
export function signInsOf(identities: Written, variables: Variables): SignIns {
  const made = known.get(identities) ?? makeAll(identities, variables);
  known.set(identities, made);
  return made;
}

function makeAll(identities: Written, variables: Variables): SignIns {
  return new Map(
    Object.entries(identities).flatMap(([name, written]) => {
      const { sign_in: settings } = written;
      return settings === undefined ? [] : [[name, signInOf(name, { written, settings, variables })] as const];
    }),
  );
}

interface Sources {
  readonly written: WrittenIdentity;
  readonly settings: SignInSettings;
  readonly variables: Variables;
}

function signInOf(name: string, { written, settings, variables }: Sources): SignIn {
  const identity = identityOf(name, written);
  const revision = rightsRevision(written);
  return {
    name,
    title: settings.title ?? name,
    publicUrl: new URL(settings.public_url).origin,
    lastsMs: durationMs(settings.lasts),
    async provider() {
      return {
        issuer: identity.issuer,
        allowPrivate: identity.allowPrivate,
        clientId: settings.client_id,
        clientSecret: await secretOf(settings, variables),
        scopes: settings.scopes,
        algorithms: identity.algorithms,
        clockSkewS: identity.clockSkewMs / 1_000,
        hasUserInfo: settings.user_info,
      };
    },
    personOf: (claims) => personOf(claims, identity, revision),
  };
}

/** Throws with words for the operator; the secret is in none of them. */
async function secretOf(settings: SignInSettings, variables: Variables): Promise<string | undefined> {
  const path = settings.client_secret_file;
  if (path !== undefined) {
    const reading = await readKeyFile(path);
    if ('trouble' in reading) throw new Error(`the file of its client secret ${reading.trouble}`);
    return reading.key;
  }
  const name = secretVariable({ sign_in: settings });
  const value = name === undefined ? undefined : variables[name];
  if (name !== undefined && !value) throw new Error(`the control plane has no variable ${name} with its client secret`);
  return value;
}

function personOf(claims: Claims, identity: Identity, revision: string): Granted | string {
  const { rights, refused } = rightsOf(identity, claims);
  if (rights === undefined) return refused.message;
  const { dashboard, subject, allowedModels, because } = rights;
  if (dashboard === undefined) return `no entry of identities.${identity.name}.rights gives it dashboard access`;
  const person: Person = {
    identity: identity.name,
    subject,
    name: nameOf(claims) ?? subject,
    role: dashboard.role,
    userPath: dashboard.userPath,
    allowedModels,
    rightsRevision: revision,
  };
  return { person, because: because.dashboard };
}

const longestName = 100;

/** What people call the person: the e-mail, or the name. */
function nameOf(claims: Claims): string | undefined {
  const names = [claims['email'], claims['name'], claims['preferred_username']];
  return names
    .filter((each) => typeof each === 'string')
    .map((each) => each.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, '').trim())
    .find((each) => each !== '')
    ?.slice(0, longestName);
}
