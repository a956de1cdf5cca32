// Money that open calls set aside under budgets: at which door, of which mode, and that nothing of it stays, however a call ends.
import { t as suite, test } from 'tap';
import { chatCall } from '../support/chat-call.ts';
import { type Answer, ask } from '../support/consumer.ts';
import { type Behaviour, createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { openRaw } from '../support/raw-http.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const cheap = await startFakeUpstream({ t: suite });
const dear = await startFakeUpstream({ t: suite });
/** Dollars for a million tokens: an answer of 600 tokens costs 0.6 dollars at the dear provider. */
const priced = (price: number) => [
  { id: 'm1', pricing: { input_per_mtok: 0, output_per_mtok: price } },
  { id: 'prompts', pricing: { input_per_mtok: price, output_per_mtok: 0 } },
];
const provider = { type: 'openai', dialects: ['chat', 'embeddings', 'responses'] };
const monthly = (amount: number, mode: string) => [{ period: 'monthly', amount, mode }];
const gateway = await shareGateway({
  config: {
    providers: {
      cheap: { ...provider, base_url: cheap.url, models: priced(100) },
      dear: { ...provider, base_url: dear.url, models: priced(1_000) },
    },
    aliases: [{ source: 'both', strategy: 'failover', targets: [{ model: 'cheap/m1' }, { model: 'dear/m1' }] }],
    budgets: {
      user_paths: [
        { path: '/hard', limits: monthly(1, 'hard') },
        { path: '/enforce', limits: monthly(1, 'enforce') },
        { path: '/shadow', limits: monthly(1, 'shadow') },
      ],
    },
  },
});

const askFor = (userPath: string, more: object = {}, options = {}): Promise<Answer> =>
  ask(gateway, userPath, { model: 'dear/m1', max_tokens: 600, ...more }, options);

/** Holds every call until the gate opens; an answer then costs 0.008 dollars at the dear provider. */
async function held() {
  const gate = createGate();
  await cheap.behave({ kind: 'hold', gate });
  await dear.behave({ kind: 'hold', gate });
  return gate;
}

suite.beforeEach(async () => {
  await cheap.behave({ kind: 'openai' });
  await dear.behave({ kind: 'openai' });
});

await test('beside an open call of a hard budget only what is left may be asked for', async (t) => {
  const gate = await held();
  const open = askFor('/hard/app');
  await waitFor('a call', () => gate.waiting === 1);
  const refused = await askFor('/hard');
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('retry-after'), '1');
  t.match(refused.text, 'US dollars are spent (monthly), and open requests have set the rest aside. Retry in 1 s.');
  t.equal((await askFor('/hard', { model: 'both' })).status, 429, 'the dearest target may answer');
  const small = askFor('/hard', { max_tokens: 100 });
  await waitFor('a small one', () => gate.waiting === 2);
  const large = await askFor('/hard', { max_tokens: 2_000 });
  t.match(large.text, 'and this request may cost up to 2.0');
  t.ok(Number(large.headers.get('retry-after')) > 1, 'it will not fit this month');
  gate.release();
  t.same([(await open).status, (await small).status], [200, 200]);
  t.equal((await askFor('/hard')).status, 200);
});

await test('beside open calls of an enforced budget their prompts are spent, and their answers are not known', async (t) => {
  const gate = await held();
  const open = Array.from({ length: 5 }, () => askFor('/enforce'));
  await waitFor('all calls', () => gate.waiting === 5);
  const words = { model: 'dear/prompts', messages: [{ role: 'user', content: 'word '.repeat(700) }] };
  open.push(askFor('/enforce', words));
  await waitFor('a long prompt', () => gate.waiting === 6);
  t.equal((await askFor('/enforce', words)).status, 429, 'two of them cost more than is left');
  const shadow = [1, 2].map(() => askFor('/shadow', words));
  await waitFor('both in shadow', () => gate.waiting === 8);
  gate.release();
  t.ok((await Promise.all([...open, ...shadow])).every(({ status }) => status === 200));
});

await test('however a call ends, nothing stays set aside', async (t) => {
  const stream = { stream: true };
  const cases: [name: string, behaviour: Behaviour, more?: object][] = [
    ['an answer', { kind: 'openai' }],
    ['a stream', { kind: 'openai' }, stream],
    ['a refusal of the provider', { kind: 'error', status: 400 }],
    ['a failed provider', { kind: 'error', status: 500 }],
    ['a closed connection', { kind: 'fin' }],
    ['a broken stream', { kind: 'cut-chunk' }, stream],
  ];
  const isFree = async (): Promise<boolean> => (await askFor('/hard/free', { model: 'dear/m1' })).status === 200;
  for (const [name, behaviour, more = {}] of cases) {
    await dear.behave([behaviour]);
    await askFor('/hard/app', more).catch(() => undefined);
    t.ok(await waitFor(`room after ${name}`, isFree), name);
  }
  for (const door of ['/v1/chat/completions', '/p/dear/chat/completions']) {
    const gate = await held();
    const raw = await openRaw(gateway.port);
    const model = door.startsWith('/p/') ? 'm1' : 'dear/m1';
    const body = { model, max_tokens: 500, messages: [{ role: 'user', content: 'hello' }] };
    const call = chatCall(body, { 'x-gateway-user-path': '/hard' }).replace('/v1/chat/completions', door);
    await raw.send(call);
    await waitFor(`a call at ${door}`, () => gate.waiting === 1);
    t.equal((await askFor('/hard')).status, 429, `${door} sets money aside`);
    raw.socket.destroy();
    await dear.behave({ kind: 'openai' });
    gate.release();
    t.ok(await waitFor('room after the client has left', isFree), door);
  }
});
