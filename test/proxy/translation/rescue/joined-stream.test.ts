// The events of several targets as those of one answer.
import { test } from 'tap';
import type { Part } from '../../../../proxy/dialects/conversation/parts.ts';
import type { StreamEvent } from '../../../../proxy/dialects/conversation/stream-event.ts';
import { JoinedStream } from '../../../../proxy/translation/rescue/joined-stream.ts';
import { ContinuedSeam } from '../../../../proxy/translation/rescue/seam.ts';

const started: StreamEvent = { kind: 'started', id: 'a', model: 'm' };
const finished: StreamEvent = { kind: 'finished', finish: { reason: 'stop' } };
const opened = (kind: 'text' | 'reasoning' | 'refusal', index = 0): StreamEvent => ({
  kind: 'opened',
  index,
  part: { kind },
});
const call = (index: number, id = 'call'): StreamEvent => ({
  kind: 'opened',
  index,
  part: { kind: 'tool_call', id, name: 'look', isFreeText: false },
});
const delta = (text: string, index = 0): StreamEvent => ({ kind: 'delta', index, delta: { kind: 'text', text } });
const closed = (index = 0): StreamEvent => ({ kind: 'closed', index });
const usage = (inputTokens: number, outputTokens: number): StreamEvent => ({
  kind: 'usage',
  usage: { inputTokens, outputTokens },
});

const always = (): boolean => true;
const stream = (hasRoom = always): JoinedStream => new JoinedStream('continue', hasRoom);
const told = (joined: JoinedStream, events: readonly StreamEvent[]): StreamEvent[] =>
  events.flatMap((event) => joined.push(event));
const goOn = (joined: JoinedStream): void =>
  joined.goOn(
    joined.said === ''
      ? undefined
      : new ContinuedSeam(joined.said, { prefix: joined.said, isExact: true, repeats: false }),
    { inputTokens: 10, outputTokens: 5 },
  );

await test('an answer of one target passes as it is', async (t) => {
  const events = [started, opened('reasoning'), delta('Hm.'), closed(), opened('text', 1), delta('Yes.', 1), closed(1)];
  const all = [...events, usage(1, 2), call(2), delta('{}', 2), closed(2), finished];
  const seen = told(stream(), all);
  t.same(seen.toSorted(byKind), all.toSorted(byKind), 'all of it');
  t.same(seen.at(-1), finished);
});

function byKind(one: StreamEvent, other: StreamEvent): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}

await test('thoughts are those of one target, and the text behind them goes on', async (t) => {
  const joined = stream();
  const seen = told(joined, [started, opened('reasoning'), delta('Let me ')]);
  goOn(joined);
  const thoughts = [started, opened('reasoning'), delta('Well, ')];
  seen.push(...told(joined, [...thoughts, closed(), opened('text', 1), delta('Yes', 1)]));
  t.equal(joined.said, 'Yes');
  goOn(joined);
  seen.push(...told(joined, [...thoughts, closed(), opened('text', 1), delta(', no.', 1), closed(1), finished]));
  t.same(seen, [
    started,
    opened('reasoning'),
    delta('Let me '),
    closed(),
    opened('text', 1),
    delta('Yes', 1),
    delta(', no.', 1),
    closed(1),
    { kind: 'finished', finish: { reason: 'stop', rescued: 'continue' } },
  ]);
});

await test('the usage is the sum', async (t) => {
  const joined = stream();
  told(joined, [started, opened('text'), delta('a'), usage(7, 1)]);
  goOn(joined);
  goOn(joined);
  t.same(told(joined, [usage(3, 4)]), [usage(23, 14)]);
});

await test('tool calls are told when the answer is over, and those that broke off never', async (t) => {
  const joined = stream();
  t.same(told(joined, [started, call(0, 'one'), delta('{"a":')]), [started]);
  goOn(joined);
  const calls = [call(0, 'two'), delta('{"b":1}'), closed(), call(1, 'three'), delta('{}', 1), closed(1)];
  t.same(told(joined, [started, ...calls]), []);
  t.same(told(joined, [finished]).slice(0, -1), calls);
});

await test('what the client has of a refusal, a picture, or too much, is not joined', async (t) => {
  const picture: Part = { kind: 'image', source: { kind: 'url', url: 'https://example.com/a' } };
  const others: StreamEvent[][] = [
    [opened('refusal'), delta('I cannot')],
    [{ kind: 'opened', index: 0, part: { kind: 'whole', part: picture } }],
    [opened('text'), delta('x'.repeat(2 * 1024 * 1024))],
    [call(0), delta('x'.repeat(2 * 1024 * 1024))],
  ];
  for (const events of others) {
    const joined = stream();
    t.same(told(joined, [started, ...events]), [started, ...events], 'it is told');
    t.equal(joined.isJoinable, false);
  }
  const full = stream(() => false);
  told(full, [started, opened('text'), delta('a')]);
  t.equal(full.isJoinable, false, 'there is no memory for it');
});

await test('a character is not told in halves', async (t) => {
  const joined = stream();
  const [first = '', second = ''] = '🦊'.split('');
  t.same(told(joined, [started, opened('text'), delta(`a${first}`)]).at(-1), delta('a'));
  t.same(told(joined, [delta(second)]), [delta('🦊')]);
  told(joined, [delta(first)]);
  goOn(joined);
  t.same(told(joined, [opened('text'), delta('🦊!')]), [delta('🦊!')]);
});
