// Questions of the gateway itself to a model, over real sockets: what comes back, what limits and records know of it, and what a hang leaves.
import { test } from 'tap';
import { nanoDollarsOf } from '../../domain/budgets/money.ts';
import { Refusal } from '../../proxy/errors.ts';
import { rst } from '../support/fake-upstream.ts';
import { watchTime } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';
import { auxiliaryStand, clientSession } from './auxiliary-stand.ts';

const codeOf = (answer: unknown): string | null | undefined => (answer instanceof Refusal ? answer.code : undefined);

await test('a question is answered, counted, charged and recorded below the path of its caller', async (t) => {
  const stand = await auxiliaryStand(t);
  await stand.first.behave({ kind: 'openai', usage: { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 } });
  const answer = await stand.ask();
  t.match(answer, { object: 'chat.completion', choices: [{ message: { role: 'assistant' } }] });
  const [sent] = stand.first.ledger;
  t.match(sent?.json(), { model: 'm', messages: [{ content: 'is it so?' }] });
  t.same(
    sent?.headers.filter(([name]) => name.toLowerCase() === 'x-request-id').map(([, id]) => id),
    ['req-of-client'],
  );
  t.same(stand.figures(), { slots: 0, requests: 1, path: 0, tokens: 0 }, 'no rule of the caller counts it');
  t.match(stand.records, [
    {
      request_id: 'req-of-client',
      session_id: clientSession,
      user_path: '/team/guardrails/judge',
      asked_by: 'gateway',
      counts_as: 'calls',
      auth_key_id: 'k1',
      path: '/v1/chat/completions',
      status_code: 200,
      requested_model: 'pair',
      resolved_model: 'first/m',
      attempts: [{ success: true, usage: { total_tokens: 42 } }],
    },
  ]);
  t.same(await stand.outcomes(), ['guardrails answered 1']);
  t.same(stand.reported, []);
});

await test('embeddings come from where the cache asks', async (t) => {
  const stand = await auxiliaryStand(t);
  const body = { model: 'second/m', input: 'hello' };
  const answer = await stand.ask({ purpose: 'cache', name: 'semantic', operation: 'embeddings', body });
  t.match(answer, { object: 'list', data: [{ object: 'embedding' }] });
  const place = { user_path: '/team/cache/semantic', path: '/v1/embeddings', resolved_model: 'second/m' };
  t.match(stand.records, [{ ...place, asked_by: 'gateway', counts_as: 'calls' }]);
});

await test('the next target answers when the first one dies', async (t) => {
  const stand = await auxiliaryStand(t);
  await stand.first.behave({ kind: 'refused' });
  t.equal(codeOf(await stand.ask()), undefined);
  t.equal(stand.second.ledger.length, 1);
  t.match(stand.figures(), { slots: 0, path: 0 });
  t.match(stand.records, [{ status_code: 200, attempts: [{ success: false }, { success: true }] }]);
});

await test('a model of another dialect is asked in its own words', async (t) => {
  const stand = await auxiliaryStand(t);
  const said = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'yes' }],
  };
  const usage = { input_tokens: 5, output_tokens: 1 };
  await stand.other.behave({ kind: 'json', body: { ...said, stop_reason: 'end_turn', stop_sequence: null, usage } });
  const answer = await stand.ask({ body: { model: 'other/m', messages: [{ role: 'user', content: 'so?' }] } });
  t.match(answer, { choices: [{ message: { content: 'yes' }, finish_reason: 'stop' }] });
  t.match(stand.records, [{ attempts: [{ usage: { total_tokens: 6 } }] }]);
});

await test('a timeout, or the end of the request, breaks it off and leaves no slot', async (t) => {
  const stand = await auxiliaryStand(t);
  for (const kind of ['hang', 'stall'] as const) {
    await stand.first.behave({ kind });
    const tookMs = watchTime();
    t.equal(codeOf(await stand.ask({ timeoutMs: 100 })), 'auxiliary_timeout', kind);
    t.ok(tookMs() < 1_000, kind);
    t.equal(stand.figures().slots, 0, kind);
  }
  await stand.first.behave({ kind: 'hang' });
  const leaving = new AbortController();
  const asking = stand.ask({ signal: leaving.signal });
  await stand.first.waitFor((ledger) => ledger[2]?.bodyComplete);
  t.equal(stand.figures().slots, 1);
  const [atProvider = 0, ofClient] = stand.reserved();
  t.ok(atProvider > 1_024, `${atProvider} tokens are set aside under the rules of the provider`);
  t.equal(ofClient, 0, 'the client has asked once');
  leaving.abort();
  t.equal(codeOf(await asking), 'client_left');
  t.equal(stand.figures().slots, 0);
  t.same(stand.reserved(), [0, 0]);
  await stand.first.waitFor((ledger) => ledger.every(({ clientClosedAtMs }) => clientClosedAtMs !== undefined));
  t.equal(stand.second.ledger.length, 0, 'no other provider is asked');
  t.equal(
    codeOf(await stand.ask({ signal: leaving.signal })),
    'client_left',
    'nothing is sent for a client that has left',
  );
  t.equal(stand.first.ledger.length, 3);
  t.same(
    stand.records.map(({ status_code }) => status_code),
    [504, 504, 499, 499],
  );
  t.ok(
    stand.records.slice(0, 3).every(({ attempts }) => (attempts[0]?.usage?.total_tokens ?? 0) > 0),
    'what was sent is charged',
  );
  t.same(await stand.outcomes(), ['guardrails timeout 2', 'guardrails cancelled 2']);
});

await test('an answer that is broken, endless or no object is a failure', async (t) => {
  const stand = await auxiliaryStand(t);
  const ask = async () => codeOf(await stand.ask({ body: { model: 'second/m', messages: [] } }));
  for (const [name, behaviour, code] of [
    ['reset', { kind: 'reset' }, 'upstream_disconnected'],
    ['cut', { kind: 'short-body' }, 'upstream_disconnected'],
    ['list', { kind: 'json', body: '[1]' }, 'upstream_invalid_response'],
    ['text', { kind: 'html' }, 'upstream_invalid_response'],
    ['long', { kind: 'json', body: `{"a":"${'a'.repeat(1024 * 1024)}"}` }, 'upstream_invalid_response'],
    ['bomb', { kind: 'gzip', expandsTo: 64 << 20 }, 'upstream_invalid_response'],
    [
      'cut late',
      { kind: 'raw', steps: [`HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n${' '.repeat(100_000)}`, rst] },
      /^upstream_(disconnected|invalid_response)$/,
    ],
  ] as const) {
    await stand.second.behave(behaviour);
    t.match(await ask(), code, name);
  }
  await stand.second.behave({ kind: 'openai' });
  t.equal(await ask(), undefined, 'and the next one is read');
  t.same(stand.reported, []);
  await waitFor('no call to be open', () =>
    stand.second.ledger.every(({ finished, clientClosedAtMs }) => finished || clientClosedAtMs !== undefined),
  );
});

await test('limits, budgets and unknown models refuse before a provider is asked', async (t) => {
  const stand = await auxiliaryStand(t);
  t.match(await stand.ask({ body: { model: 'nothing', messages: [] } }), { code: 'model_not_found' });
  t.match(stand.figures(), { path: 0 }, 'what was refused here is not counted');
  const direct = { body: { model: 'first/m', messages: [] } };
  for (let asked = 0; asked < 8; asked += 1) t.equal(codeOf(await stand.ask(direct)), undefined);
  t.equal(codeOf(await stand.ask(direct)), 'rate_limit_exceeded', 'by the rule of the provider');
  const spent = { id: 'b1', scope: 'user_path', subject: '/team', effectiveSubject: '/team', perChild: false } as const;
  const window = { periodSeconds: 60, startMs: 0, endMs: Number.MAX_SAFE_INTEGER, mode: 'enforce' } as const;
  stand.budgets.verdicts.put([{ ...spent, ...window, amount: nanoDollarsOf(1), spent: nanoDollarsOf(1) }]);
  t.equal(codeOf(await stand.ask()), 'budget_exceeded');
  t.equal(stand.first.ledger.length, 8);
  t.match(stand.figures(), { slots: 0, requests: 8, path: 0 });
  t.same(await stand.outcomes(), ['guardrails answered 8', 'guardrails refused 3']);
});
