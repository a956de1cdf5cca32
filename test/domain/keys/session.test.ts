// Sessions of browsers: what opens one, what does not, and what the cookie says to the browser.
import { test } from 'tap';
import { keyOfPerson, personDigest } from '../../../domain/keys/person.ts';
import { sealText } from '../../../domain/keys/sealed-text.ts';
import {
  csrfTokenOf,
  isCsrfToken,
  openSession,
  readSessionCookie,
  sealSession,
  writeSessionCookie,
} from '../../../domain/keys/session.ts';

const masterKey = 'sk-test-master-key-0123456789';
const session = { digest: 'a'.repeat(64), endsAtMs: 2_000 };

await test('a sealed session opens with its master key until it ends, and with nothing else', async (t) => {
  const sealed = sealSession(session, masterKey);
  const id = Buffer.from(sealed, 'base64url').toString('hex', 0, 12);
  t.strictSame(openSession(sealed, masterKey, 1_999), { id, ...session });
  t.equal(openSession(sealed, masterKey, 2_000), undefined, 'it is over');
  t.equal(openSession(sealed, `${masterKey}!`, 0), undefined, 'another master key');
  t.notOk(sealed.includes('aaaa'), 'the digest cannot be read');
  t.not(sealSession(session, masterKey), sealed, 'no two are the same');
  for (const [index, letter] of sealed.split('').entries()) {
    const other = letter === 'A' ? 'B' : 'A';
    const changed = sealed.slice(0, index) + other + sealed.slice(index + 1);
    // The last letter has bits that no byte holds.
    if (Buffer.from(changed, 'base64url').equals(Buffer.from(sealed, 'base64url'))) continue;
    if (openSession(changed, masterKey, 0) !== undefined) t.fail(`letter ${index} is not sealed`);
  }
  for (const bad of ['', 'x', 'ä', sealed.slice(0, 20), `${sealed}${'A'.repeat(4_000)}`])
    t.equal(openSession(bad, masterKey, 0), undefined);
});

const person = {
  identity: 'company',
  subject: 'a b|c:d',
  name: 'Ann "Ä" O’Hara',
  role: 'operator',
  userPath: '/team a/b',
  rightsRevision: '0123456789abcdef',
  allowedModels: ['chat', 'openai/*'],
} as const;

await test('a session of a person opens with all that it holds, and gives a key with these rights and no secret', async (t) => {
  const digest = personDigest(person);
  const sealed = sealSession({ digest, endsAtMs: 2_000, person }, masterKey);
  t.strictSame(openSession(sealed, masterKey, 0)?.person, person);
  t.equal(openSession(sealText(`${digest} 2000`, 'sign-in', masterKey), masterKey, 0), undefined, 'another purpose');
  for (const said of ['{}', '[1]', '["a","b","c","root","/","r"]', '["a"]'])
    t.equal(openSession(sealText(`${digest} 2000 ${said}`, 'session', masterKey), masterKey, 0), undefined, said);
  const key = keyOfPerson(person);
  t.match(key, { id: 'company:a b|c:d', role: 'operator', userPath: '/team a/b', allowedModels: person.allowedModels });
  t.equal(keyOfPerson({ ...person, userPath: '/' }).userPath, undefined, 'the whole gateway');
});

await test('a token of one session is none of another', async (t) => {
  const [one, other] = [sealSession(session, masterKey), sealSession(session, masterKey)];
  t.ok(isCsrfToken(csrfTokenOf(one, masterKey), one, masterKey));
  t.notOk(isCsrfToken(csrfTokenOf(other, masterKey), one, masterKey));
  t.notOk(isCsrfToken(undefined, one, masterKey));
});

await test('the cookie is found among others, and tells the browser to keep it from scripts and other sites', async (t) => {
  t.equal(readSessionCookie('a=1; gateway_session=abc; b=2'), 'abc');
  t.equal(readSessionCookie('a=1; my_gateway_session=abc'), undefined);
  t.equal(readSessionCookie('gateway_session='), undefined);
  t.equal(readSessionCookie(undefined), undefined);
  t.equal(
    writeSessionCookie('abc', true),
    'gateway_session=abc; Path=/admin; Max-Age=43200; HttpOnly; SameSite=Strict; Secure',
  );
  t.equal(writeSessionCookie(undefined, false), 'gateway_session=; Path=/admin; Max-Age=0; HttpOnly; SameSite=Strict');
});
