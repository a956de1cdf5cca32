// Whether a session of a person still stands, by the settings that gave it its rights.
import { test } from 'tap';
import { peopleInForce, rightsRevision } from '../../../domain/identities/people.ts';
import { credentialsOf } from '../../../domain/keys/credentials.ts';
import { identifySession } from '../../../domain/keys/identify-session.ts';
import { personDigest } from '../../../domain/keys/person.ts';
import type { Identity, SignInSettings } from '../../../schemas/types.ts';

const signIn: SignInSettings = {
  client_id: 'gateway',
  public_url: 'https://gateway.example.com',
  scopes: ['openid'],
  user_info: false,
  lasts: '8h',
};
const company: Identity = {
  issuer: 'https://login.example.com',
  allow_private: false,
  audience: 'api',
  algorithms: ['RS256'],
  clock_skew: '30s',
  user_path: '/{email}',
  rights: [{ when: "'admins' in claims.groups", dashboard: { role: 'admin', user_path: '/' } }],
  deny: { subjects: [], jti: [] },
  keys_kept_for: '24h',
  sign_in: signIn,
};
const person = {
  identity: 'company',
  subject: 'ann',
  name: 'Ann',
  role: 'admin',
  userPath: '/',
  allowedModels: [],
  rightsRevision: rightsRevision(company),
} as const;
const stands = (identity: Identity | undefined): boolean =>
  peopleInForce(identity === undefined ? {} : { company: identity })(person);

await test('a session stands while the settings are those that gave it its rights', async (t) => {
  t.ok(stands(company));
  t.ok(stands({ ...company, deny: { subjects: ['ben'], jti: [] }, clock_skew: '1m' }), 'what gives no rights');
  t.ok(stands({ ...company, sign_in: { ...signIn, title: 'Example' } }));
  const { sign_in: _, ...without } = company;
  const ended: [string, Identity | undefined][] = [
    ['the identity is gone', undefined],
    ['nobody signs in with it', without],
    ['the person is denied', { ...company, deny: { subjects: ['ann'], jti: [] } }],
    ['another issuer', { ...company, issuer: 'https://other.example.com' }],
    ['other rights', { ...company, rights: [] }],
    ['another path', { ...company, user_path: '/staff/{email}' }],
    ['claims that are required', { ...company, required_claims: { email_verified: true } }],
    ['models', { ...company, allowed_models: ['chat'] }],
    ['shorter sessions', { ...company, sign_in: { ...signIn, lasts: '1h' } }],
  ];
  for (const [what, identity] of ended) t.notOk(stands(identity), what);
});

await test('a person is a caller while its session stands, whatever the keys are', async (t) => {
  const session = { digest: personDigest(person), person };
  const credentials = credentialsOf('0'.repeat(64), [], false);
  const people = peopleInForce({ company });
  t.match(identifySession(session, credentials, { people, nowMs: 0 }), { kind: 'person', key: { id: 'company:ann' } });
  t.equal(identifySession(session, credentials, { nowMs: 0 }), undefined);
});
