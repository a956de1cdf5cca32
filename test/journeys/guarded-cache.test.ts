// Guardrails and the response cache together: an answer is kept as the provider gave it, and each request that gets it is checked and unmasked by itself.
import { t as suite, test } from 'tap';
import { type Behaviour, startFakeUpstream } from '../support/fake-upstream.ts';
import { recordOf } from '../support/journal.ts';
import { shareGateway } from '../support/shared.ts';

const upstream = await startFakeUpstream({ t: suite });
const mask = { name: 'mask', user_paths: ['/masked'], pii: { kinds: ['email'], action: 'mask' } };
const noCards = { name: 'no-cards', pii: { kinds: ['card'], action: 'block' } };
const config = {
  cache: { enabled: true, scope: 'gateway' },
  rate_limits: { user_paths: [{ path: '/limited', limits: [{ period: 'minute', max_requests: 2 }] }] },
};
const withGuardrails = (...guardrails: object[]) => ({ 'gateway.yaml': { ...config, guardrails } });
const gateway = await shareGateway({ upstream, config: withGuardrails(mask)['gateway.yaml'] });

const written: Behaviour = { kind: 'openai', content: 'I wrote to [EMAIL_1].' };
const card = '4111 1111 1111 1111';

interface Told {
  readonly status: number;
  readonly cache: string | null;
  readonly text: string;
  readonly requestId: string;
  /** What the provider got for it. */
  readonly sent: readonly string[];
}

async function ask(
  content: string,
  { path = '/masked', ...more }: { path?: string; stream?: boolean } = {},
): Promise<Told> {
  const before = upstream.ledger.length;
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-gateway-user-path': path },
    body: { model: 'fake-small', messages: [{ role: 'user', content }], ...more },
  });
  return {
    status: response.status,
    cache: response.headers.get('x-gateway-cache'),
    requestId: response.headers.get('x-request-id') ?? '',
    text: await response.text(),
    sent: upstream.ledger.slice(before).map(({ body }) => body.toString()),
  };
}

await test('two users whose masked requests are equal share an answer, and each gets its own value back', async (t) => {
  await upstream.behave(written);
  const first = await ask('Write to ann@example.com');
  t.match(first, { status: 200, cache: 'miss', text: 'I wrote to ann@example.com.' });
  t.match(first.sent, [/Write to \[EMAIL_1\]/]);
  const second = await ask('Write to bob@example.com');
  t.match(second, { status: 200, cache: 'hit', text: 'I wrote to bob@example.com.', sent: [] });
  t.notMatch(second.text, 'ann@');
  const streamed = await ask('Write to eve@example.com', { stream: true });
  t.match(streamed, { status: 200, cache: 'hit', text: 'I wrote to eve@example.com.', sent: [] });
  const unmasked = await ask('Write to [EMAIL_1]', { path: '/plain' });
  t.match(unmasked, { cache: 'hit', text: 'I wrote to [EMAIL_1].' }, 'it is kept as the provider gave it');
});

await test('an answer that came as a stream is kept before it is unmasked', async (t) => {
  await upstream.behave(written);
  const streamed = await ask('Stream to ann@example.com', { stream: true });
  t.match(streamed, { status: 200, cache: 'miss' });
  t.notMatch(streamed.text, 'EMAIL_1');
  t.match(await ask('Stream to bob@example.com'), { cache: 'hit', text: 'I wrote to bob@example.com.', sent: [] });
});

await test('a guardrail that came later holds for answers that were kept', async (t) => {
  await upstream.behave({ kind: 'openai', content: `It is ${card}.` });
  t.match(await ask('Which card?'), { status: 200, cache: 'miss' });
  t.match(await ask('Which card?'), { status: 200, cache: 'hit', sent: [] });
  await gateway.applyConfig(withGuardrails(mask, { ...noCards, on: ['output'] }));
  const blocked = await ask('Which card?');
  t.match(blocked, { status: 400, text: '"code":"guardrail_blocked"', sent: [] });
  t.notMatch(blocked.text, card);
  const record = await recordOf(gateway, blocked.requestId);
  t.match(record, { cache_type: 'exact', status_code: 400, data: { guardrails: [{ name: 'no-cards' }] } });
  const streamed = await ask('Which card?', { stream: true });
  t.match(streamed, { text: 'guardrail_blocked', sent: [] });
  t.notMatch(streamed.text, card);
  await gateway.applyConfig(withGuardrails(mask));
  t.match(await ask('Which card?'), { status: 200, cache: 'hit', text: card }, 'it was not forgotten');
});

await test('a request that a guardrail refuses gets no answer that was kept, and counts nothing', async (t) => {
  await upstream.behave({ kind: 'openai' });
  const path = '/limited';
  const refusedNow = async (): Promise<void> => {
    const refused = await ask(`My card is ${card}`, { path });
    t.match(refused, { status: 400, cache: null, text: '"code":"guardrail_blocked"', sent: [] });
  };
  t.match(await ask(`My card is ${card}`, { path }), { status: 200, cache: 'miss' });
  await gateway.applyConfig(withGuardrails(mask, noCards));
  for (const _ of [1, 2]) await refusedNow();
  t.match(await ask('Another question', { path }), { status: 200, cache: 'miss' }, 'the second of two');
  t.match(await ask('A third question', { path }), { status: 429, sent: [] });
  await refusedNow();
});
