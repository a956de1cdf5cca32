// Scrapes of /metrics do not slow the gateway down: at most one rendering per second, on a separate port if configured.
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { t as suite, test } from 'tap';
import { ask } from '../support/consumer.ts';
import { extent } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { readMetric, startGateway } from '../support/gateway.ts';
import { rawRequest } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const rules = (count: number) => ({
  rate_limits: {
    user_paths: Array.from({ length: count }, (_, index) => ({
      path: `/team-${index}`,
      limits: [{ period: 'minute', max_requests: 1_000, max_tokens: 1_000_000 }],
    })),
  },
});

/** For the tests that need no thousands of rules: no control plane is there, and the metrics have a port of their own. */
const gateway = await startGateway(suite, {
  upstream,
  config: rules(1),
  env: { GATEWAY_CONTROL_PLANE_URL: 'http://127.0.0.1:1', GATEWAY_METRICS_PORT: '0' },
});
const metricsUrl = String(gateway.process.logs().find(({ msg }) => msg === 'serving metrics')?.['address']);

/** The pause of a connection between two scrapes: a short run reads a hundred long answers per second. */
const scrapePauseMs = extent(0, 60);

/** Asks for the metrics on so many connections, again and again, until told to stop; gives what came, without repetitions. */
function scrape(port: number, connections: number): () => Promise<{ scrapes: number; texts: Set<string> }> {
  const texts = new Set<string>();
  let scrapes = 0;
  const stopping = new AbortController();
  const each = Array.from({ length: connections }, async () => {
    while (!stopping.signal.aborted) {
      const { responses } = await rawRequest(port, 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n');
      if (responses[0]?.status !== 200) throw new Error(`no metrics: ${responses[0]?.status}`);
      scrapes += 1;
      texts.add(responses[0].text());
      await setTimeout(scrapePauseMs);
    }
  });
  return async () => {
    stopping.abort();
    await Promise.all(each);
    return { scrapes, texts };
  };
}

await test('with thousands of rules and a flood of scrapes the metrics are rendered once a second, and chat goes on', async (t) => {
  const busy = await startGateway(t, {
    upstream,
    config: rules(extent(5_000, 1_500)),
    env: { GATEWAY_METRICS_MAX_AGE_MS: undefined },
  });
  const stop = scrape(busy.port, 6);
  const startedMs = performance.now();
  const waits: number[] = [];
  const refused: number[] = [];
  await waitFor('enough of chat', async () => {
    const askedMs = performance.now();
    const { status } = await ask(busy, '/team-7');
    if (status !== 200) refused.push(status);
    waits.push(performance.now() - askedMs);
    return performance.now() - startedMs > extent(3_000, 1_500);
  });
  const { scrapes, texts } = await stop();
  const seconds = (performance.now() - startedMs) / 1_000;
  const slow = waits.sort((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? Number.NaN;
  t.comment(`${scrapes} scrapes, ${texts.size} renderings, ${waits.length} calls, p99 ${slow.toFixed(0)} ms`);
  t.same(refused, [], 'chat goes on');
  t.ok(scrapes > 3 * texts.size);
  t.ok(texts.size <= seconds + 1, `${texts.size} renderings in ${seconds.toFixed(1)} s`);
  t.ok(slow < 1_000);
});

await test('every request is counted by its trip and by how it ended', async (t) => {
  const shown = async () => (await fetch(`${metricsUrl}/metrics`)).text();
  const counted = async () => {
    const text = await shown();
    const of = (trip: string, status: number) =>
      readMetric(text, 'gateway_http_requests_total', { trip, status: `${status}` }) ?? 0;
    return { model: of('model', 200), admin: of('admin', 503), other: of('other', 404), none: of('none', 400) };
  };
  const before = await counted();
  const askedBefore = readMetric(await shown(), 'gateway_requests_total') ?? 0;
  t.equal((await ask(gateway, '/x')).status, 200);
  t.equal((await gateway.fetch('/admin/status')).status, 503, 'no control plane is there');
  t.equal((await gateway.fetch('/admin')).status, 503);
  for (const path of ['/v1/nothing', '/administrators', '/v1/models/nothing'])
    t.equal((await gateway.fetch(path)).status, 404);
  const malformed = [
    'GET / HTTP/1.1\r\nHost: a b\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\n no header\r\n\r\n',
    'x\r\n\r\n',
  ];
  for (const request of malformed) t.equal((await rawRequest(gateway.port, request)).responses[0]?.status, 400);
  const expected = {
    model: before.model + 1,
    admin: before.admin + 2,
    other: before.other + 3,
    none: before.none + malformed.length,
  };
  // A request is counted when its answer has left, which its client may know first.
  await waitFor('the last one to be counted', async () => (await counted()).none >= expected.none);
  t.strictSame(await counted(), expected);
  t.equal(readMetric(await shown(), 'gateway_requests_total'), askedBefore + 1, 'model requests alone');
});

await test('a port that is taken stops the start, and the variable is named', async (t) => {
  const second = await startGateway(t, {
    upstream,
    config: {},
    env: { GATEWAY_METRICS_PORT: String(gateway.port) },
    ready: 'spawned',
  });
  t.equal((await second.process.exited).code, 1);
  t.match(second.process.stderr.join('\n'), /GATEWAY_METRICS_PORT/);
});

await test('with a port of their own the metrics are served there, and there only', async (t) => {
  t.match(await (await fetch(`${metricsUrl}/metrics`)).text(), /^gateway_requests_in_flight 0$/m);
  t.equal((await fetch(`${metricsUrl}/metrics?x=1`, { method: 'HEAD' })).status, 200);
  for (const path of ['/', '/health', '/v1/models', '/admin', '/metrics/'])
    t.equal((await fetch(`${metricsUrl}${path}`)).status, 404, path);
  for (const path of ['/metrics', '/'])
    t.equal((await fetch(`${metricsUrl}${path}`)).headers.get('x-content-type-options'), 'nosniff', path);
  t.equal(
    (
      await fetch(`${metricsUrl}/metrics`, { method: 'POST', body: 'x'.repeat(1_000_000) }).catch(() => ({
        status: 404,
      }))
    ).status,
    404,
  );
  const there = await gateway.fetch('/metrics', { headers: { authorization: '' } });
  t.equal(there.status, 404);
  t.match(await there.json(), { error: { code: 'route_not_found' } });
  t.equal((await gateway.fetch('/health')).status, 200);

  const crowd = Array.from({ length: 200 }, () =>
    connect(Number(new URL(metricsUrl).port), '127.0.0.1').on('error', () => {}),
  );
  t.teardown(() => {
    for (const socket of crowd) socket.destroy();
  });
  await waitFor('the crowd to be cut down', () => crowd.filter((socket) => socket.closed).length >= 100);
  t.equal((await ask(gateway, '/x')).status, 200, 'a crowd there keeps no place from clients');

  const exit = await gateway.process.stop();
  t.equal(exit.code, 0, 'it does not keep the process');
});
