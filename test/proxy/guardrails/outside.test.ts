// What guardrails ask others in the name of a request: with its id and its trace, and only for as long as its client is there.
import { test } from 'tap';
import { Refusal } from '../../../proxy/errors.ts';
import { hookOf } from '../../../proxy/guardrails/asked-kinds.ts';
import { closeExchange } from '../../../proxy/http/exchange.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { auxiliaryStand } from '../auxiliary-stand.ts';
import { exchangeOf } from '../stage-parts.ts';

const webhook = {
  timeout_ms: 5_000,
  fail: 'closed',
  max_concurrent: 2,
  allow_private: false,
  headers: {},
  window: 100,
} as const;
const traceId = '0af7651916cd43dd8448eb211c80319c';

await test('questions carry the id and the trace of the request', async (t) => {
  const stand = await auxiliaryStand(t);
  const service = await startFakeUpstream({ t });
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
  const outside = stand.outside(exchangeOf({ traceparent, tracestate: 'a=1', 'x-request-id': 'r1' }));
  const hook = hookOf({ name: 'words', webhook: { ...webhook, url: `${service.url}/check?key=1` } });
  await service.behave({ kind: 'json', body: '{"verdict":"pass"}' });
  t.match((await outside.askHook(hook, Buffer.from('{}'))).body?.toString(), '"pass"');
  const [asked] = service.ledger;
  t.equal(asked?.target, '/v1/check?key=1');
  t.match(asked?.header('traceparent'), traceparent.slice(0, -2));
  t.equal(asked?.header('tracestate'), 'a=1');
  t.equal(asked?.header('x-request-id'), 'r1');
  t.equal(asked?.header('x-gateway-signature'), undefined, 'nothing is signed without a secret');
});

await test('the end of the client is the end of every question', async (t) => {
  const stand = await auxiliaryStand(t);
  const service = await startFakeUpstream({ t });
  const exchange = exchangeOf({});
  const outside = stand.outside(exchange);
  await Promise.all([service.behave({ kind: 'hang' }), stand.first.behave({ kind: 'hang' })]);
  const hook = hookOf({ name: 'words', webhook: { ...webhook, url: service.url } });
  const asking = outside.askHook(hook, Buffer.from('{}'));
  const question = { name: 'judge', body: { model: 'pair', messages: [] }, timeoutMs: 5_000 };
  const judging = outside.askModel(question).catch((error: unknown) => error);
  await Promise.all([service, stand.first].map((one) => one.waitFor(([entry]) => entry?.bodyComplete)));
  closeExchange(exchange);
  t.same(await asking, { trouble: 'cancelled' });
  const refused = await judging;
  t.ok(refused instanceof Refusal && refused.code === 'client_left');
  t.equal(stand.figures().slots, 0);
  t.same(await stand.outside(exchange).askHook(hook, Buffer.from('{}')), { trouble: 'cancelled' }, 'who comes late');
  t.equal(service.ledger.length, 1);
});
