// Logging out while the state store fails: the browser forgets its session all the same, and is told that copies of it go on.
import { t as suite, test } from 'tap';
import { sessionRoutes } from '../../control-plane/admin/session/routes.ts';
import { createServer } from '../../control-plane/server.ts';
import { endedSessions } from '../../domain/documents/kinds.ts';
import { readKind } from '../../domain/documents/managed-kind.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { endedByOwner } from '../../domain/keys/ended-sessions.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { csrfHeader } from '../../domain/keys/session.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import { openStateStore } from '../../store/state/open.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const masterKey = 'sk-test-master-key-0123456789';
const store = openStateStore({ directory: temporaryDirectory(suite), pollMs: 20 });
let isDown = false;
let ended = endedByOwner([]);
const access = {
  credentials: () => credentialsOf(digestOf(masterKey), [], true, ended),
  failedLogins: createFailedLogins(),
  masterKey,
  nowMs: () => Date.now(),
};
const app = createServer({
  logger: { error: () => undefined, info: () => undefined },
  metrics: { contentType: 'text/plain', text: async () => '' },
  access,
  readiness: () => ({ status: 'ready', reasons: [] }),
});
await app.register(sessionRoutes, {
  parts: {
    access,
    store: {
      async read() {
        if (isDown) throw new StoreUnavailable('timeout', 'no answer');
        return store.read();
      },
      commit: (commit) => store.commit(commit),
    },
    signOutUrl: async () => undefined,
    version: '1',
    log: { info: () => undefined },
  },
});
const address = await app.listen({ host: '127.0.0.1', port: 0 });
suite.teardown(async () => {
  await app.close();
  await store.close();
});
const url = `${address}/admin/session`;

await test('a browser that logs out while the store fails forgets its session, and can end it later', async (t) => {
  const headers = { 'content-type': 'application/json' };
  const begun = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ key: masterKey }) });
  const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? '';
  const { csrf_token: token } = (await begun.json()) as { csrf_token: string };
  const leave = () =>
    fetch(url, { method: 'DELETE', headers: { cookie, [csrfHeader]: token, 'sec-fetch-site': 'same-origin' } });
  const look = async () => (await fetch(url, { headers: { cookie } })).status;

  isDown = true;
  const failed = await leave();
  t.match(await failed.json(), { status_code: 503, code: 'store_unavailable' });
  t.match(failed.headers.get('set-cookie'), /^gateway_session=; Path=\/admin; Max-Age=0;/);
  t.equal(await look(), 200, 'a copy goes on');

  isDown = false;
  const left = await leave();
  t.equal(left.status, 204);
  t.ok(Number(left.headers.get('x-gateway-state-revision')) > 0, 'a proxy waits for it');
  ended = endedByOwner(readKind(endedSessions, (await store.read()).documents).values);
  t.equal(await look(), 401);
});
