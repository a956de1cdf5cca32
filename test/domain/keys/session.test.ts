// Sessions of browsers: what opens one, what does not, and what the cookie says to the browser.
import { test } from 'tap';
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
  for (const bad of ['', 'x', 'ä', sealed.slice(0, 20), `${sealed}${'A'.repeat(2_000)}`])
    t.equal(openSession(bad, masterKey, 0), undefined);
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
