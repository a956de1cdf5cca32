// The probes that editors and agents send before they ask anything: each is answered at once, and its connection carries the next request.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type RawResponse, rawRequest } from '../support/raw-http.ts';
import { shareGateway } from '../support/shared.ts';
import { authorization, chatCall, head, host } from './raw-cases.ts';

const upstream = await startFakeUpstream({ t: suite });
const origin = 'https://editor.test';
const gateway = await shareGateway({ upstream });

/** The answer to a probe; throws unless the next request on the same connection is answered behind it. */
async function probe(line: string, ...headers: string[]): Promise<RawResponse> {
  const isHead = line.startsWith('HEAD ');
  const next = isHead ? head('HEAD /health HTTP/1.1', host) : chatCall();
  const sent = [head(`${line} HTTP/1.1`, host, ...headers), next];
  const { responses } = await rawRequest(gateway.port, sent, { until: 2, head: isHead });
  const [first, second] = responses;
  if (first === undefined || second?.status !== 200)
    throw new Error(`${line}: the next one was answered ${second?.status}`);
  return first;
}

await test('a base URL tells what answers there, without a key', async (t) => {
  for (const path of ['/', '/v1', '/?client=agent']) {
    const answer = await probe(`GET ${path}`);
    t.equal(answer.status, 200, path);
    t.strictSame(
      answer.json(),
      { name: 'Model gateway', base_urls: { openai: '/v1', anthropic: '/' }, documentation: '/admin/openapi.json' },
      path,
    );
    const probed = await probe(`HEAD ${path}`);
    t.equal(probed.status, 200, path);
    t.equal(probed.body.length, 0, path);
    t.equal(probed.header('content-length'), answer.header('content-length'), path);
  }
  const wrongKey = await probe('HEAD /', 'x-api-key: wrong', 'anthropic-version: 2023-06-01');
  t.equal(wrongKey.status, 200, 'a key is not looked at');
  t.equal(wrongKey.header('request-id'), wrongKey.header('x-request-id'));
});

await test('a probe of an endpoint says which method it has, to callers with a key', async (t) => {
  for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/messages?beta=true']) {
    for (const method of ['OPTIONS', 'HEAD', 'GET']) {
      const known = await probe(`${method} ${path}`, authorization);
      t.match({ status: known.status, allow: known.header('allow') }, { status: 405, allow: 'POST' }, method + path);
      const unknown = await probe(`${method} ${path}`);
      t.equal(unknown.status, 401, `${method} ${path} without a key`);
    }
  }
  t.equal((await probe('OPTIONS /')).header('allow'), 'GET, HEAD');
});

await test('a preflight is answered without a key: with what is allowed, or with why not', async (t) => {
  const preflight = [`Origin: ${origin}`, 'Access-Control-Request-Method: POST'];
  const paths = ['/v1/chat/completions', '/v1/messages', '/v1/responses'];
  for (const path of paths) {
    const refused = await probe(`OPTIONS ${path}`, ...preflight);
    t.match(refused.json(), { error: { code: 'origin_not_allowed' } }, path);
  }
  await gateway.applyConfig({ 'gateway.yaml': { server: { cors: { origins: [origin] } } } });
  for (const path of paths) {
    const allowed = await probe(`OPTIONS ${path}`, ...preflight);
    t.equal(allowed.status, 204, path);
    t.equal(allowed.header('access-control-allow-origin'), origin, path);
  }
});
