// How the planes get in to Redis: what of the variables fits together, what is wrong is named without its content, and files are followed.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { followSecrets } from '../../plane/follow-secrets.ts';
import type { Log } from '../../plane/log-events.ts';
import { readRedisAccess } from '../../plane/redis-access.ts';
import { openRedisStore } from '../../store/state/redis/store.ts';
import { createCertificates, startRedis } from '../support/redis.ts';
import { change, ids } from '../support/store-calls.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

/** Writes files of these names; gives the path of each. */
function filesIn(t: Test, contents: Readonly<Record<string, string>>): (name: string) => string {
  const folder = temporaryDirectory(t, 'gateway-redis-access');
  const path = (name: string): string => join(folder, name);
  for (const [name, text] of Object.entries(contents)) writeFileSync(path(name), text);
  return path;
}

function read(variables: Readonly<Record<string, string>>) {
  const problems: string[] = [];
  return { ...readRedisAccess((name) => variables[name], problems), problems };
}

await test('an address alone is a text, with what stands beside it an object', async (t) => {
  const tls = createCertificates(temporaryDirectory(t, 'gateway-tls'));
  const path = filesIn(t, { ca: `# bundle\n${tls.ca}`, cert: tls.cert + tls.key, key: tls.key, password: 'canary\n' });
  t.match(read({}), { redisUrl: undefined, secretFiles: [], problems: [] });
  t.match(read({ REDIS_URL: 'redis://host' }), { redisUrl: 'redis://host', problems: [] });
  const url = 'rediss-sentinel://:pw@host/main';
  const all = read({
    REDIS_URL: url,
    REDIS_SENTINEL_USERNAME: 'watcher',
    REDIS_SENTINEL_PASSWORD_FILE: path('password'),
    REDIS_CA_FILE: path('ca'),
    REDIS_CERT_FILE: path('cert'),
    REDIS_KEY_FILE: path('key'),
  });
  const certificates = { ca: tls.ca.trim(), cert: tls.cert.trim(), key: tls.key.trim() };
  t.same(all.redisUrl, { url, sentinelUsername: 'watcher', sentinelPassword: 'canary', certificates });
  t.same(all.problems, []);
  t.same(
    all.secretFiles.map(({ name }) => name),
    ['REDIS_SENTINEL_PASSWORD', 'REDIS_CA', 'REDIS_CERT', 'REDIS_KEY'],
  );
});

await test('what is wrong is named by its variable, never by its content', async (t) => {
  const tls = createCertificates(temporaryDirectory(t, 'gateway-tls'));
  const path = filesIn(t, {
    canary: 'canary',
    cert: tls.cert,
    key: tls.key,
    other: tls.issue('other').key,
    broken: '-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----',
  });
  const pair = { REDIS_CERT_FILE: path('cert'), REDIS_KEY_FILE: path('key') };
  const tlsUrl = { REDIS_URL: 'rediss://host' };
  for (const [variables, said] of [
    [{ REDIS_URL: 'canary' }, /^REDIS_URL must look like redis:.*redis-sentinel:.*redis-cluster:/],
    [{ ...tlsUrl, REDIS_CA_FILE: path('none') }, /^REDIS_CA_FILE names a file that does not exist/],
    [{ ...tlsUrl, REDIS_CA_FILE: path('canary') }, /^REDIS_CA_FILE names a file that holds no certificate/],
    [{ ...tlsUrl, ...pair, REDIS_KEY_FILE: path('cert') }, /^REDIS_KEY_FILE names a file that holds no private key/],
    [{ ...tlsUrl, ...pair, REDIS_KEY_FILE: path('broken') }, /^REDIS_KEY_FILE names a file that holds a private key/],
    [
      { ...tlsUrl, ...pair, REDIS_KEY_FILE: path('other') },
      /^REDIS_CERT_FILE and REDIS_KEY_FILE .*not belong together/,
    ],
    [{ ...tlsUrl, REDIS_CERT_FILE: path('cert') }, /^REDIS_CERT_FILE and REDIS_KEY_FILE belong together/],
    [{ REDIS_URL: 'redis://host', REDIS_CA_FILE: path('cert') }, /^REDIS_CA_FILE is set, but REDIS_URL .* rediss/],
    [{ ...tlsUrl, REDIS_SENTINEL_PASSWORD: 'canary' }, /^REDIS_SENTINEL_PASSWORD is set, but REDIS_URL .*sentinel/],
    [
      { REDIS_URL: 'redis-sentinel://h/m', REDIS_SENTINEL_USERNAME: 'canary' },
      /^REDIS_SENTINEL_USERNAME is set without/,
    ],
    [{ REDIS_CA_FILE: path('cert') }, /^REDIS_CA_FILE is set without REDIS_URL/],
  ] as const) {
    const { problems } = read(variables);
    t.match(problems[0], said);
    t.notMatch(problems.join(), /canary/);
  }
});

await test('a renewed client certificate is used once its key is there, and a wrong one changes nothing', async (t) => {
  const server = await startRedis(t, { tls: 'mutual' });
  const { tls } = server;
  if (tls === undefined) throw new Error('the server has no certificates');
  const path = filesIn(t, { ca: tls.ca, cert: tls.cert, key: tls.key });
  const { redisUrl, secretFiles, problems } = read({
    REDIS_URL: server.url,
    REDIS_CA_FILE: path('ca'),
    REDIS_CERT_FILE: path('cert'),
    REDIS_KEY_FILE: path('key'),
  });
  t.same(problems, []);
  if (redisUrl === undefined) throw new Error('there is no address');
  const store = openRedisStore({ redisUrl, timeoutMs: 1_000 });
  t.teardown(() => store.close());
  await change(store, 'a');
  const lines: string[] = [];
  const note = (...given: readonly unknown[]): void => void lines.push(String(given.at(-1)));
  const follower = followSecrets({
    settings: { secretFiles, masterKey: undefined, previousMasterKey: undefined, redisUrl },
    renewKeys: () => undefined,
    reconnect: (...given) => store.reconnect(...given),
    log: { info: note, error: note } as unknown as Log,
  });
  t.teardown(() => follower.close());
  writeFileSync(path('ca'), 'canary');
  await waitFor('the complaint', () => follower.problems()[0]?.startsWith('REDIS_CA_FILE names a file that holds no'));
  await change(store, 'b');
  writeFileSync(path('ca'), tls.ca);
  const renewed = tls.issue('renewed');
  writeFileSync(path('cert'), renewed.cert);
  await waitFor('the key to be missed', () => /REDIS_KEY_FILE.* not belong together/.test(follower.problems().join()));
  t.match(follower.problems(), [/^REDIS_CERT_FILE names what does not work yet; the connection before stays in use/]);
  writeFileSync(path('key'), renewed.key);
  await waitFor('the new connection', () => lines.includes('the renewed address of Redis is in use'));
  t.same(follower.problems(), []);
  await change(store, 'c');
  t.same(await ids(store), ['a', 'b', 'c']);
  // Of an authority that the server does not have.
  const foreign = createCertificates(temporaryDirectory(t, 'gateway-foreign'));
  writeFileSync(path('ca'), foreign.ca);
  await waitFor('the refusal', () =>
    /REDIS_CA_FILE names what does not work yet.*certificate/.test(follower.problems().join()),
  );
  await change(store, 'd');
  t.notMatch(lines.join('\n'), /PRIVATE|BEGIN|canary/);
});
