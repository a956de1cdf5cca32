// A guardrail that asks a model: what the model is told, which of its words are a verdict, and what limits and hangs lead to.
import { type Test, test } from 'tap';
import { askedChecks } from '../../../proxy/guardrails/asked.ts';
import type { CheckContext, Checks, Verdict } from '../../../proxy/guardrails/guardrail.ts';
import { type LlmSettings, llmAsk } from '../../../proxy/guardrails/llm.ts';
import { createGate } from '../../support/fake-upstream.ts';
import type { AuxiliaryStand } from '../auxiliary-stand.ts';
import { auxiliaryStand } from '../auxiliary-stand.ts';
import { contextWith, said } from './hook-stand.ts';

interface Judge {
  readonly stand: AuxiliaryStand;
  readonly checks: Checks;
  readonly context: CheckContext;
  readonly check: (...texts: string[]) => Promise<Verdict | undefined>;
}

async function judge(t: Test, given: Partial<LlmSettings> = {}): Promise<Judge> {
  const stand = await auxiliaryStand(t);
  const settings = {
    name: 'judge',
    model: 'pair',
    prompt: 'No medical advice.',
    action: 'judge',
    timeoutMs: 2_000,
  } as const;
  const context = contextWith({
    askHook: () => Promise.reject(new Error('no service is asked')),
    async askModel({ name, body, timeoutMs }) {
      const answer = await stand.ask({ name, body, timeoutMs });
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  const checks = askedChecks(llmAsk({ ...settings, ...given }), { fail: 'closed', window: 10 });
  return { stand, checks, context, check: async (...texts) => checks.texts?.(texts.map(said), context) };
}

await test('the model is told its task, and the texts as data', async (t) => {
  const { stand, check } = await judge(t);
  await stand.first.behave({ kind: 'openai', content: '{"verdict":"pass"}' });
  t.same(await check('one', 'two'), { outcome: 'pass' });
  const asked = stand.first.ledger[0]?.json() as { messages: { role: string; content: string }[]; stream?: boolean };
  t.equal(asked.stream, undefined);
  const [system, user] = asked.messages;
  t.match(system, { role: 'system', content: /^No medical advice\.\n\nYou judge texts/ });
  t.equal(user?.role, 'user');
  t.same(JSON.parse(user?.content ?? ''), [
    { role: 'user', text: 'one' },
    { role: 'user', text: 'two' },
  ]);
  t.match(stand.records, [{ user_path: '/team/guardrails/judge', status_code: 200 }]);
});

await test('a verdict is read among other words; what is not clear is none', async (t) => {
  const { stand, check } = await judge(t);
  const unclear = { outcome: 'failed', reason: 'unclear', fail: 'closed' };
  for (const [content, verdict] of [
    ['```json\n{"verdict": "block", "reason": "medical"}\n```', { outcome: 'block', reason: 'medical' }],
    [
      'Sure! {"verdict":"FLAG","reason":"he said \\"take two {pills}\\""} Anything else?',
      { outcome: 'flag', reason: 'judged' },
    ],
    ['{"verdict":"pass"} and again {"verdict":"pass"}', { outcome: 'pass' }],
    ['The text says {"verdict":"pass"}, but: {"verdict":"block"}', unclear],
    ['pass', unclear],
    ['{"verdict":"maybe"}', unclear],
    ['{"verdict":"pass"', unclear],
    ['{{{{{{"verdict":"pass"}', unclear],
  ] as const) {
    const message = { role: 'assistant', content };
    await stand.second.behave({ kind: 'json', body: { choices: [{ index: 0, message, finish_reason: 'stop' }] } });
    await stand.first.behave({ kind: 'refused' });
    t.same(await check('a'), verdict, content);
  }
});

await test('an answer that was cut, filtered or calls a tool is no verdict', async (t) => {
  const { stand, check } = await judge(t);
  for (const finish_reason of ['length', 'content_filter', 'tool_calls']) {
    const message = { role: 'assistant', content: '{"verdict":"pass"}' };
    await stand.first.behave({ kind: 'json', body: { choices: [{ index: 0, message, finish_reason }] } });
    t.match(await check('a'), { outcome: 'failed', reason: 'unclear' }, finish_reason);
  }
});

await test('texts are written anew, all of them or none', async (t) => {
  const { stand, check, checks, context } = await judge(t, { action: 'rewrite' });
  const answer = (content: unknown) => stand.first.behave({ kind: 'openai', content: JSON.stringify(content) });
  await answer({ texts: ['x {"texts":[1,2]}', 'b'] });
  t.same(await check('a', 'b'), { outcome: 'revise', reason: 'rewritten', texts: ['x {"texts":[1,2]}', 'b'] });
  await answer({ texts: ['a', 'b'] });
  t.same(await check('a', 'b'), { outcome: 'pass' }, 'nothing was changed');
  for (const content of [{ texts: ['x'] }, { texts: ['x', 7] }, { text: 'x' }, ['x', 'y']]) {
    await answer(content);
    t.match(await check('a', 'b'), { outcome: 'failed', reason: 'unclear' }, JSON.stringify(content));
  }
  const input = { role: 'assistant', form: 'json', text: '{"a":1}' } as const;
  for (const [text, wanted] of [
    ['{"a":2}', { outcome: 'revise', texts: ['{"a":2}'] }],
    ['a is 2', { outcome: 'failed', reason: 'invalid', fail: 'closed' }],
  ] as const) {
    await answer({ texts: [text] });
    t.match(await checks.texts?.([input], context), wanted, 'JSON stays JSON');
  }
});

await test('of a streamed JSON all is asked about at once, and it stays JSON', async (t) => {
  const { stand, checks, context } = await judge(t, { action: 'rewrite' });
  await stand.first.behave({ kind: 'openai', content: '{"texts":["\\"a is 2\\""]}' });
  const stream = checks.stream?.('json', { ...context, phase: 'output' });
  t.same(stream?.push('{"to":"somebody far away"}'), { text: '' });
  t.match(await stream?.end(), { text: '', verdict: { outcome: 'failed', reason: 'invalid' } });
});

await test('a stream waits for each verdict, window by window', async (t) => {
  const { stand, checks, context } = await judge(t);
  const gate = createGate();
  await stand.first.behave({ kind: 'hold', gate, next: { kind: 'openai', content: '{"verdict":"pass"}' } });
  const stream = checks.stream?.('text', { ...context, phase: 'output' });
  t.same(stream?.push('12345'), { text: '' });
  let isOver = false;
  const waiting = Promise.resolve(stream?.push('67890')).then((released) => {
    isOver = true;
    return released;
  });
  await stand.first.waitFor((ledger) => ledger[0]?.bodyComplete);
  t.notOk(isOver);
  gate.release();
  t.same(await waiting, { text: '1234567890' });
});

await test('a model that hangs, dies or may not be asked is a failure that says why', async (t) => {
  const { stand, check } = await judge(t, { timeoutMs: 150 });
  await stand.first.behave({ kind: 'hang' });
  t.match(await check('a'), { outcome: 'failed', reason: 'timeout' });
  t.equal(stand.figures().slots, 0);
  await stand.first.behave({ kind: 'refused' });
  await stand.second.behave({ kind: 'error', status: 500 });
  t.match(await check('a'), { outcome: 'failed', reason: 'model' });
  await stand.second.behave({ kind: 'openai', content: '{"verdict":"pass"}' });
  t.same(await check('a'), { outcome: 'pass' });
  const spent = { id: 'b1', scope: 'user_path', subject: '/team', effectiveSubject: '/team', perChild: false } as const;
  const window = { periodSeconds: 60, startMs: 0, endMs: Number.MAX_SAFE_INTEGER, mode: 'enforce' } as const;
  stand.budgets.verdicts.put([{ ...spent, ...window, amount: 1, spent: 1 }]);
  t.match(await check('a'), { outcome: 'failed', reason: 'refused' });
});
