// The events of a stream fold into the answer that they tell.
import { test } from 'tap';
import { AnswerFold } from '../../../../proxy/dialects/conversation/fold-events.ts';
import type { PartDelta, StreamEvent } from '../../../../proxy/dialects/conversation/stream-event.ts';

const delta = (index: number, told: PartDelta): StreamEvent => ({ kind: 'delta', index, delta: told });
const text = (index: number, told: string): StreamEvent => delta(index, { kind: 'text', text: told });

await test('every kind of part grows by its deltas', async (t) => {
  const fold = new AnswerFold();
  const whole = { kind: 'image', source: { kind: 'url', url: 'https://example.com/a.png' } } as const;
  const events: readonly StreamEvent[] = [
    { kind: 'started', id: 'a', model: 'm', createdAt: 5 },
    { kind: 'opened', index: 0, part: { kind: 'reasoning' } },
    text(0, 'Hm'),
    delta(0, { kind: 'summary', index: 1, text: 'two' }),
    delta(0, { kind: 'summary', index: 0, text: 'one' }),
    delta(0, { kind: 'signature', signature: { family: 'google', value: 's' } }),
    delta(0, { kind: 'encrypted', encrypted: { family: 'openai', value: 'e' } }),
    { kind: 'closed', index: 0 },
    { kind: 'opened', index: 1, part: { kind: 'text' } },
    delta(1, { kind: 'text', text: 'Hel', logprobs: [1] }),
    delta(1, { kind: 'text', text: 'lo', logprobs: [2] }),
    delta(1, { kind: 'citation', citation: { url: 'https://example.com' } }),
    { kind: 'closed', index: 1 },
    { kind: 'usage', usage: { inputTokens: 1, outputTokens: 0 } },
    { kind: 'opened', index: 2, part: { kind: 'tool_call', id: 'c', name: 'f', isFreeText: false } },
    text(2, '{"a"'),
    text(2, ':1}'),
    { kind: 'closed', index: 2 },
    { kind: 'opened', index: 3, part: { kind: 'refusal' } },
    text(3, 'No.'),
    { kind: 'closed', index: 3 },
    { kind: 'opened', index: 4, part: { kind: 'whole', part: whole } },
    { kind: 'closed', index: 4 },
    { kind: 'usage', usage: { inputTokens: 1, outputTokens: 9 } },
  ];
  for (const event of events) fold.add(event);
  t.notOk(fold.isFinished);
  t.same(fold.answer().finish, { reason: 'stop' });
  fold.add({ kind: 'finished', finish: { reason: 'length' } });
  t.ok(fold.isFinished);
  t.strictSame(fold.answer(), {
    id: 'a',
    model: 'm',
    createdAt: 5,
    parts: [
      {
        kind: 'reasoning',
        text: 'Hm',
        summary: ['one', 'two'],
        signature: { family: 'google', value: 's' },
        encrypted: { family: 'openai', value: 'e' },
      },
      { kind: 'text', text: 'Hello', citations: [{ url: 'https://example.com' }], logprobs: [1, 2] },
      { kind: 'tool_call', id: 'c', name: 'f', input: '{"a":1}', isFreeText: false, signature: undefined },
      { kind: 'refusal', text: 'No.' },
      whole,
    ],
    finish: { reason: 'length' },
    usage: { inputTokens: 1, outputTokens: 9 },
  });
  t.same(fold.usage, { inputTokens: 1, outputTokens: 9 });
});

await test('a failure is kept beside what came before', async (t) => {
  const fold = new AnswerFold();
  const failure = { message: 'busy', code: null, type: null };
  for (const event of [
    { kind: 'opened', index: 0, part: { kind: 'text' } },
    text(0, 'Hi'),
    { kind: 'failed', failure },
  ] as const) {
    fold.add(event);
  }
  t.same(fold.failure, failure);
  t.match(fold.answer().parts, [{ text: 'Hi' }]);
  t.notOk(fold.isFinished);
});
