// GATEWAY_ADMIN_ON_PROXY=false: nothing of /admin is served on the public port, to nobody, and models are served as ever.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey, startGateway } from '../support/gateway.ts';
import { rawRequest } from '../support/raw-http.ts';

const gateway = await startGateway(suite, {
  upstream: await startFakeUpstream({ t: suite }),
  env: { GATEWAY_ADMIN_ON_PROXY: 'false' },
});

await test('every path of /admin is 404 with and without a key, by whatever method, before a body is read', async (t) => {
  const paths = ['/admin', '/admin/', '/admin/rate-limits', '/admin/session', '/admin/dashboard', '/admin/live'];
  for (const path of [...paths, '/admin/explain?model=m', '/admin/explain/x', '/admin/guardrails/test']) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      for (const key of ['', `Authorization: Bearer ${masterKey}\r\n`]) {
        const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\n${key}${method === 'GET' ? '' : 'Content-Length: 9\r\n'}\r\n`;
        const { responses } = await rawRequest(gateway.port, head);
        const [answer] = responses;
        t.match(
          [answer?.status, answer?.json()],
          [404, { code: 'route_not_found', status_code: 404 }],
          `${method} ${path}`,
        );
      }
    }
  }
});

await test('an encoded path is not /admin either', async (t) => {
  for (const path of [
    '/%61dmin/session',
    '//admin/session',
    '/./admin/session',
    '/v1/../admin/session',
    '/ADMIN/session',
  ]) {
    const { responses } = await rawRequest(
      gateway.port,
      `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${masterKey}\r\n\r\n`,
    );
    t.match(responses[0]?.status, /^40[04]$/, path);
  }
});

await test('models are served, and the welcome names no page of /admin', async (t) => {
  const models = await gateway.fetch('/v1/models');
  t.equal(models.status, 200);
  await models.body?.cancel();
  t.notMatch(await (await fetch(`http://127.0.0.1:${gateway.port}/`)).text(), /admin/);
});
