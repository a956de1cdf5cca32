// The headers that tell a consumer of its limits: which of them an operator has chosen.
import { test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { shareGateway } from '../support/shared.ts';

await test('server.ratelimit_headers chooses the headers of answers and refusals, and is hot', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const config = (server: object) => ({
    server,
    rate_limits: { user_paths: [{ path: '/', limits: [{ period: 'minute', max_requests: 2 }] }] },
  });
  const gateway = await shareGateway({ upstream, config: config({ ratelimit_headers: ['openai', 'ietf'] }) });
  const ask = async () => {
    const body = { model: 'fake/fake-small', messages: [{ role: 'user', content: 'hello' }] };
    const { status, headers, text } = await gateway
      .fetch('/v1/chat/completions', { method: 'POST', body })
      .then(async (response) => ({ status: response.status, headers: response.headers, text: await response.text() }));
    const limit = headers.get('ratelimit') ?? '';
    const [, remaining, reset] = /^"requests-per-minute";r=(\d+);t=(\d+);pk=:Lw==:$/.exec(limit) ?? [];
    return { status, headers, remaining, reset, text };
  };
  for (const [status, left] of [
    [200, '1'],
    [200, '0'],
    [429, '0'],
  ] as const) {
    const answer = await ask();
    t.equal(answer.status, status, answer.text);
    t.equal(answer.headers.get('ratelimit-policy'), '"requests-per-minute";q=2;w=60;pk=:Lw==:');
    t.equal(answer.remaining, left);
    t.equal(answer.headers.get('x-ratelimit-remaining-requests'), left);
    t.equal(answer.headers.get('x-ratelimit-reset-requests'), answer.reset);
  }
  await gateway.applyConfig({ 'gateway.yaml': config({ ratelimit_headers: [] }) });
  const { status, headers } = await ask();
  t.equal(status, 429);
  t.same(
    [...headers.keys()].filter((name) => name.includes('ratelimit')),
    [],
  );
  t.match(headers.get('retry-after'), /^\d+$/);
});
