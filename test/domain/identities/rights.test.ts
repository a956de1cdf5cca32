// Rights of tokens: what claims give, which claim gave what, and that no claim gets a caller out of the place its template says.
import * as fc from 'fast-check';
import { test } from 'tap';
import type { Claims } from '../../../domain/conditions/claim-path.ts';
import { type Identity, identityOf } from '../../../domain/identities/identity.ts';
import { rightsOf } from '../../../domain/identities/rights.ts';
import { isWithin } from '../../../domain/user-path.ts';
import type { Identity as WrittenIdentity } from '../../../schemas/types.ts';
import { loadExpressionParser } from '../../../schemas/validation/parse-expression.ts';
import { runs } from '../../support/extent.ts';

await loadExpressionParser();

function identity(given: Partial<WrittenIdentity>): Identity {
  return identityOf('company', {
    issuer: 'https://login.example.com',
    audience: 'gateway',
    user_path: '/staff',
    allow_private: false,
    algorithms: ['RS256'],
    clock_skew: '30s',
    keys_kept_for: '24h',
    rights: [],
    deny: { subjects: [], jti: [] },
    ...given,
  });
}

/** The user path that a template gives, or why it gives none. */
function pathOf(template: string, claims: Claims): string | undefined {
  const { rights, refused } = rightsOf(identity({ user_path: template }), { sub: 'ann', ...claims });
  return rights?.userPath ?? refused?.message;
}

await test('claims give rights, and each right says where it comes from', (t) => {
  const company = identity({
    user_path: '/{groups[0]}/{email}',
    labels: ['{department}', 'staff', '{teams}', '{site?}'],
    allowed_models: ['chat', '{models}'],
    rights: [
      { when: "'admins' in claims.groups", dashboard: { role: 'admin', user_path: '/' }, allowed_models: ['*'] },
      { when: 'claims["https://x/level"] >= 3 || claims.realm.roles[0] == "lead"', dashboard: { role: 'viewer' } },
    ],
  });
  const claims = {
    sub: '17',
    email: 'ann@x.org',
    groups: ['a', 'b'],
    department: 7,
    teams: ['t1', 't2'],
    models: ['m'],
  };
  t.strictSame(rightsOf(company, claims).rights, {
    subject: '17',
    id: 'company:17',
    userPath: '/a/ann@x.org',
    labels: ['7', 'staff', 't1', 't2'],
    allowedModels: ['chat', 'm'],
    dashboard: undefined,
    because: {
      user_path: { from: 'identities.company.user_path', claims: ['groups[0]', 'email'] },
      labels: { from: 'identities.company.labels', claims: ['department', 'teams', 'site'] },
      allowed_models: { from: 'identities.company.allowed_models', claims: ['models'] },
    },
  });
  const admin = rightsOf(company, { ...claims, groups: ['admins'], realm: { roles: ['lead'] } }).rights;
  t.strictSame([admin?.dashboard, admin?.allowedModels], [{ role: 'admin', userPath: '/' }, ['*']]);
  t.strictSame(admin?.because.dashboard, { from: 'identities.company.rights[0].dashboard', claims: ['groups'] });
  const lead = rightsOf(company, { ...claims, realm: { roles: ['lead'] } }).rights;
  t.strictSame(lead?.dashboard, { role: 'viewer', userPath: '/a/ann@x.org' });
  t.strictSame(lead?.because.dashboard?.claims, ['["https://x/level"]', 'realm.roles[0]']);
  t.end();
});

await test('a claim is one segment of the path, or the token is refused', (t) => {
  const rows: readonly [value: unknown, path: string][] = [
    ['ann', '/a/ann'],
    [42, '/a/42'],
    ['a/b', '/a/a%2Fb'],
    ['a%2Fb', '/a/a%252Fb'],
    ['../b', '/a/..%2Fb'],
    ['auth0|1:2', '/a/auth0|1%3A2'],
    ['', 'the claim who is empty'],
    [undefined, 'the token has no claim who'],
    [null, 'the token has no claim who'],
    [['x'], 'the claim who is a list, not a text or a whole number; one of its entries would be who[0]'],
    [{ a: 1 }, 'the claim who is an object, not a text or a whole number'],
    [true, 'the claim who is true or false, not a text or a whole number'],
    [1.5, 'the claim who is a number with a fraction, not a text or a whole number'],
    ['..', 'no valid user path can be made of who: it has a "." or ".." segment'],
    ['.', 'no valid user path can be made of who: it has a "." or ".." segment'],
    ['a\u200bb', 'no valid user path can be made of who: it holds a control, zero-width or right-to-left character'],
    ['x'.repeat(1024), 'no valid user path can be made of who: it is longer than 1024 bytes'],
  ];
  for (const [who, path] of rows) t.equal(pathOf('/a/{who}', { who }), path, JSON.stringify(who));
  for (const who of [' a', 'a ', 'e\u0301']) t.match(pathOf('/a/{who}', { who }), /is not written as a user path/, who);
  t.end();
});

await test('a claim that is a path keeps its slashes, and stays below what stands before it', (t) => {
  t.equal(pathOf('{+group}', { group: '/a/b' }), '/a/b');
  t.equal(pathOf('/x{+group}', { group: '/a/b' }), '/x/a/b');
  for (const group of ['a/b', '/a/', '//a', '/a/../b', '/', '/a b:c'])
    t.match(pathOf('{+group}', { group }), /no valid user path/, group);
  t.match(pathOf('/x/{+group}', { group: '/a' }), /no valid user path/);
  t.end();
});

await test('no text of a claim leaves the place of its template, and no two of them share one', (t) => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'B', '/', '.', '%', '2', 'F', ':', ' ', '\\', '\u0130', 'e', '\u0301'),
  });
  fc.assert(
    fc.property(text, text, (one, other) => {
      const [first, second] = [one, other].map(
        (who) => rightsOf(identity({ user_path: '/top/{who}/end' }), { sub: 's', who }).rights?.userPath,
      );
      if (first === undefined) return true;
      const isPlaced = isWithin(first, '/top') && first.split('/').length === 4;
      return isPlaced && (one === other || first !== second);
    }),
    runs(2_000),
  );
  t.end();
});

await test('what is required, denied or not to be shown refuses a token, and no message holds the value of a claim', (t) => {
  const strict = identity({
    required_claims: { email_verified: true, site: ['eu', 'uk'] },
    deny: { subjects: ['gone'], jti: ['j1'] },
    labels: ['{department}'],
    allowed_models: ['{models}'],
  });
  const good = { sub: 'ann', email_verified: true, site: ['us', 'uk'], department: 'd', models: ['m'] };
  t.ok(rightsOf(strict, good).rights);
  const rows: readonly [claims: Claims, check: string, message: RegExp][] = [
    [{ email_verified: 'true' }, 'required_claims', /email_verified is not the one that is required/],
    [{ site: undefined }, 'required_claims', /site is missing/],
    [{ site: 'SECRET' }, 'required_claims', /site is not the one/],
    [{ sub: 'gone' }, 'deny', /identities\.company\.deny\.subjects/],
    [{ jti: 'j1' }, 'deny', /identities\.company\.deny\.jti/],
    [{ sub: undefined }, 'sub', /sub/],
    [{ sub: 'SECRET\n' }, 'sub', /sub/],
    [{ sub: 7 }, 'sub', /sub/],
    [{ department: undefined }, 'labels', /no claim department/],
    [{ department: ' SECRET' }, 'labels', /department/],
    [{ department: Array.from({ length: 51 }, (_, index) => `l${index}`) }, 'labels', /more than 50/],
    [{ models: [] }, 'allowed_models', /leave it no model/],
    [{ models: ['SECRET', 1.5] }, 'allowed_models', /an entry that is no text/],
  ];
  for (const [claims, check, message] of rows) {
    const { refused } = rightsOf(strict, { ...good, ...claims });
    t.equal(refused?.check, check, JSON.stringify(claims));
    t.match(refused?.message, message);
    t.notMatch(refused?.message, /SECRET/);
  }
  t.end();
});

await test('a condition does not hold where a claim is missing or of another type', (t) => {
  const rows: readonly [when: string, claims: Claims, holds: boolean][] = [
    ["claims.a != 'x'", {}, false],
    ["claims.a != 'x'", { a: ['x'] }, false],
    ["claims.a != 'x'", { a: 'y' }, true],
    ["!('x' in claims.a)", { a: 'x' }, false],
    ["!('x' in claims.a)", { a: ['y'] }, true],
    ['claims.n > 3', { n: '9' }, false],
    ['claims.n > 3', { n: 9 }, true],
    ["claims.a.startsWith('x')", { a: 7 }, false],
    ['claims.ok && claims.n == 1', { ok: 'false', n: 1 }, false],
    ['!claims.ok && claims.n == 1', { ok: 0, n: 1 }, false],
    ['size(claims.a) > 1', { a: ['x', 'y'] }, true],
    ["claims.constructor.name == 'Object'", {}, false],
    ["claims.a in ['x', 'y']", { a: 'y' }, true],
  ];
  for (const [when, claims, holds] of rows) {
    const of = identity({ rights: [{ when, dashboard: { role: 'viewer' } }] });
    const { rights } = rightsOf(of, { sub: 's', ...claims });
    t.equal(rights?.dashboard !== undefined, holds, `${when} ${JSON.stringify(claims)}`);
  }
  t.end();
});
