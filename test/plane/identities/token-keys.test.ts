// Tokens of a real identity provider: let in, refused by each check, over a rotation of keys, while the provider hangs or is gone, and after a restart.
import { createHmac } from 'node:crypto';
import { t as suite, test } from 'tap';
import { digestOf } from '../../../domain/keys/secret.ts';
import { issuerTimes } from '../../../plane/identities/issuer.ts';
import { type JudgedToken, TokenKeys, type TokenKeysParts } from '../../../plane/identities/token-keys.ts';
import { TokenMemory } from '../../../plane/identities/token-memory.ts';
import type { Identity } from '../../../schemas/types.ts';
import { audience, newSigningKey, startIdentityProvider } from '../../support/identity-provider.ts';
import { sampleKey } from '../../support/managed-state.ts';
import type { Teardown } from '../../support/teardown.ts';
import { temporaryDirectory } from '../../support/teardown.ts';
import { waitFor } from '../../support/wait-for.ts';

const idp = await startIdentityProvider(suite);
const times = { ...issuerTimes, retryMs: 50, timeoutMs: 2_000, waitMs: 2_000 };
const hasty = { ...times, timeoutMs: 300, waitMs: 200 };

function identity(more: Partial<Identity> = {}): Identity {
  return {
    issuer: idp.issuer,
    audience,
    user_path: '/{groups[0]}/{email}',
    allow_private: false,
    algorithms: ['RS256', 'ES256'],
    clock_skew: '30s',
    keys_kept_for: '24h',
    rights: [],
    deny: { subjects: [], jti: [] },
    ...more,
  };
}

/** With keys that were fetched, unless it is told not to wait for them. */
async function opened(
  t: Teardown,
  written: Record<string, Identity>,
  { waits = true, ...more }: Partial<TokenKeysParts> & { readonly waits?: boolean } = {},
): Promise<TokenKeys> {
  const log = { warn: () => undefined, info: () => undefined };
  const folder = temporaryDirectory(t, 'tokens');
  const tokens = await TokenKeys.open({ folder, nowMs: Date.now, log, times, ...more });
  t.teardown(() => tokens.close());
  tokens.prepare(written)();
  if (waits) await waitFor('the keys of the issuer', () => tokens.states().every(({ areUsable }) => areUsable));
  return tokens;
}

async function judged(tokens: TokenKeys, token: string): Promise<JudgedToken | undefined> {
  return tokens.judge(token);
}

const tokens = await opened(suite, { company: identity() });

await test('a token that the provider issued is verified once, with the rights of its claims', async (t) => {
  const token = await idp.issue();
  t.equal(tokens.known(digestOf(token)), undefined);
  const { key } = (await judged(tokens, token)) ?? {};
  t.match(key, { id: 'company:program', userPath: '/team-a/ann@example.com', anyUserPath: false, enabled: true });
  t.match(key?.token?.because.user_path, { claims: ['groups[0]', 'email'] });
  t.equal(tokens.known(digestOf(token)), key);
  t.match(tokens.outcomes(), [{ identity: 'company', outcome: 'ok', count: 1 }]);
});

await test('what is no token of an issuer may be any other key', async (t) => {
  const foreign = await idp.sign({ iss: 'https://elsewhere.example.com' });
  for (const token of [foreign, 'sk-gw-x', 'eyJ.eyJ.x', `${foreign}.x.y`, 'eyJhbGciOiJub25lIn0.W10.', ''])
    t.equal(tokens.judge(token), undefined);
});

await test('each check refuses, says which one it is, and shows nothing of the token', async (t) => {
  const seconds = Math.floor(Date.now() / 1000);
  const part = (value: unknown): string =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
  const claims = { iss: idp.issuer, sub: 'ann', aud: audience, exp: seconds + 300 };
  const text = JSON.stringify(claims);
  const keys = await (await fetch(`${idp.issuer}/jwks`)).text();
  const hmac = (header: object): string => {
    const signed = `${part(header)}.${part(claims)}`;
    return `${signed}.${createHmac('sha256', keys).update(signed).digest('base64url')}`;
  };
  const good = await idp.sign();
  const stranger = await newSigningKey('k1');
  const { key: own } = idp;
  idp.key = stranger;
  const forged = await idp.sign();
  idp.key = own;
  const rows: readonly [token: string, check: string, message: RegExp][] = [
    [`${part({ alg: 'none' })}.${part(claims)}.`, 'alg', /algorithm/],
    [hmac({ alg: 'HS256', kid: 'k1' }), 'alg', /algorithm/],
    [`${part({ alg: 'RS512', kid: 'k1' })}.${part(claims)}.${part('x')}`, 'alg', /algorithm/],
    [`${part({ alg: 'ES256', kid: 'k1' })}.${part(claims)}.${part('x')}`, 'kid', /keys of its issuer/],
    [forged, 'signature', /signature is wrong/],
    [`${good.slice(0, -8)}AAAAAAAA`, 'signature', /signature is wrong/],
    [await idp.sign({ aud: 'other' }), 'aud', /somebody else/],
    [await idp.sign({ aud: undefined }), 'aud', /somebody else/],
    [await idp.sign({ exp: seconds - 31 }), 'exp', /has expired/],
    [await idp.sign({ nbf: seconds + 60 }), 'nbf', /not valid yet/],
    [await idp.sign({ exp: undefined }), 'form', /no end/],
    [await idp.sign({ exp: 'never' }), 'form', /no end/],
    [await idp.sign({ sub: undefined }), 'form', /claim sub/],
    [await idp.sign({ filler: 'x'.repeat(20_000) }), 'form', /longer than/],
    [await idp.sign({}, { cty: 'JWT' }), 'form', /another token/],
    [`${part({ alg: 'RS256', kid: 'k1', crit: ['exp'] })}.${part(claims)}.${part('x')}`, 'form', /crit/],
    [await idp.sign({}, { kid: 7 }), 'form', /kid/],
    [await idp.sign({}, { kid: ['k1'] }), 'form', /kid/],
    [`${part({ alg: 'RS256', kid: 'k1' })}.${part(text.replace('{', '{"sub":"root",'))}.${part('x')}`, 'form', /twice/],
    [`${part('{"alg":"none","alg":"RS256","kid":"k1"}')}.${part(claims)}.${part('x')}`, 'form', /twice/],
    [await idp.sign({ email: undefined }), 'user_path', /no claim email/],
    [await idp.sign({ email: '..' }), 'user_path', /"\.\." segment/],
  ];
  for (const [token, check, message] of rows) {
    const { key, refused } = (await judged(tokens, token)) ?? {};
    t.equal(key, undefined);
    t.match(refused, { identity: 'company', check, message });
    t.notMatch(refused?.message, /ann|root|example|eyJ/);
  }
  t.ok((await judged(tokens, good))?.key);
});

await test('a new key is fetched at once, and made-up ones do not flood the issuer', async (t) => {
  await idp.rotate();
  t.ok((await judged(tokens, await idp.issue()))?.key);
  const before = idp.asked.length;
  const floods = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => judged(tokens, await idp.sign({}, { kid: `made-up-${index}` }))),
  );
  t.ok(floods.every((each) => each?.refused !== undefined));
  // Each fetch asks for the metadata and the keys.
  t.ok(idp.asked.length - before <= 2 * times.burst, `${idp.asked.length - before} requests`);
});

await test('an issuer that hangs holds up its own new keys for a moment, and nobody else', async (t) => {
  const other = await startIdentityProvider(t);
  const both = await opened(t, { company: identity(), other: identity({ issuer: other.issuer }) }, { times: hasty });
  const unknown = await other.sign({}, { kid: 'new' });
  const known = await other.sign();
  other.instead = () => undefined;
  const waiting = judged(both, unknown);
  t.ok((await judged(both, await idp.sign()))?.key);
  t.ok((await judged(both, known))?.key, 'known keys hold');
  t.match((await waiting)?.refused, { check: /kid|unavailable/ });
  await waitFor('the error', () => both.states()[1]?.lastError !== undefined);
  t.match(both.states()[1], { keys: 1, areUsable: true, lastError: /no whole answer within 300 ms/ });
  t.match((await judged(both, await other.sign({ jti: 'x' }, { kid: 'new' })))?.refused, { check: 'unavailable' });
});

await test('a document of 10,000 keys, of another issuer, or from a forbidden address is refused', async (t) => {
  const other = await startIdentityProvider(t);
  const jwk = { ...other.key.jwk, d: undefined };
  const states = async (written: Identity, more: Partial<TokenKeysParts> = {}) => {
    const asking = await opened(t, { other: written }, { ...more, waits: false });
    await waitFor('the outcome', () => asking.states()[0]?.lastError !== undefined);
    return asking.states()[0]?.lastError;
  };
  const many = JSON.stringify({ keys: Array.from({ length: 10_000 }, (_, index) => ({ ...jwk, kid: `k${index}` })) });
  other.instead = (_, response) => response.end(many);
  const withUri = identity({ issuer: other.issuer, jwks_uri: `${other.issuer}/jwks` });
  t.match(await states(withUri), /longer than 524288 bytes/);
  const few = JSON.stringify({ keys: Array.from({ length: 101 }, (_, index) => ({ kty: 'RSA', kid: `k${index}` })) });
  other.instead = (_, response) => response.end(few);
  t.match(await states(withUri), /more than 100 keys/);
  other.instead = (_, response) => response.end(JSON.stringify({ keys: [{ kty: 'oct', k: 'c2VjcmV0' }] }));
  t.match(await states(withUri), /no key that can be used/);
  other.instead = (_, response) => response.end(JSON.stringify({ issuer: idp.issuer, jwks_uri: `${idp.issuer}/jwks` }));
  t.match(await states(identity({ issuer: other.issuer })), /name another issuer/);
  other.instead = (_, response) =>
    response.end(JSON.stringify({ issuer: other.issuer, jwks_uri: 'https://169.254.169.254/latest' }));
  t.match(await states(identity({ issuer: other.issuer })), /not allowed/);
  other.instead = (_, response) => void response.writeHead(302, { location: `${idp.issuer}/jwks` }).end();
  t.match(await states(withUri), /302/);
  const resolve: NonNullable<TokenKeysParts['resolve']> = (_, done) => done(null, [{ address: '10.0.0.1', family: 4 }]);
  t.match(await states(identity({ issuer: 'https://login.test' }), { resolve }), /not allowed/);
});

await test('keys are kept over a restart, for a stated time', async (t) => {
  const other = await startIdentityProvider(t);
  const folder = temporaryDirectory(t, 'tokens');
  const company = { company: identity({ issuer: other.issuer }) };
  const before = await opened(t, company, { folder });
  const token = await other.sign({ exp: Math.floor(Date.now() / 1000) + 200_000 });
  await waitFor('the copy', async () => (await TokenKeys.open({ folder, nowMs: Date.now, log: console })).hasKept);
  before.close();
  other.instead = (_, response) => void response.writeHead(503).end();
  const after = await opened(t, company, { folder, waits: false });
  t.ok((await judged(after, token))?.key);
  const later = await opened(t, company, { folder, waits: false, nowMs: () => Date.now() + 86_500_000 });
  t.match((await judged(later, token))?.refused, { check: 'unavailable' });
  const elsewhere = await opened(t, company, { waits: false });
  t.match((await judged(elsewhere, token))?.refused, { check: 'unavailable' });
});

await test('a change of the identity holds for tokens that were let in before', async (t) => {
  const mine = await opened(t, { company: identity() });
  const token = await idp.sign({ jti: 'j1' });
  const key = (await judged(mine, token))?.key;
  if (key === undefined) throw new Error('it was refused');
  mine.prepare({ company: identity() })();
  t.equal(mine.now(key), key, 'the same configuration changes nothing');
  mine.prepare({ company: identity({ user_path: '/moved' }) })();
  t.match(mine.known(digestOf(token)), { userPath: '/moved', digest: key.digest });
  mine.prepare({ company: identity({ deny: { subjects: [], jti: ['j1'] } }) })();
  t.same([mine.known(digestOf(token)), mine.now(key)], [undefined, undefined]);
  t.match((await judged(mine, token))?.refused, { check: 'deny' });
  mine.prepare({ company: identity({ audience: 'other' }) })();
  t.equal(mine.now(key), undefined);
  mine.prepare({})();
  t.same([mine.now(key), mine.judge(token)], [undefined, undefined]);
});

await test('memory of tokens is bounded, and what is used stays', (t) => {
  const memory = new TokenMemory();
  const used = sampleKey('used', { id: 'used' });
  memory.keep(used);
  for (let index = 0; index < 50_000; index += 1) {
    memory.keep({ ...used, digest: String(index) });
    if (index % 1_000 === 0) memory.get(used.digest);
  }
  t.ok(memory.size <= 20_000, `${memory.size} tokens`);
  t.equal(memory.get(used.digest), used);
  t.end();
});
