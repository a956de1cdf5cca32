// Streams of servers that speak chat, however they name their tool calls, tell what their whole answers tell.
import * as fc from 'fast-check';
import { test } from 'tap';
import { chatTranslation } from '../../../../proxy/dialects/chat/translate.ts';
import { anyCharacter } from '../../../support/arbitrary.ts';
import { runs } from '../../../support/extent.ts';
import {
  cases,
  disorder,
  eventsOf,
  eventsOfChunks,
  eventsOfDeltas,
  folded,
  plain,
  recordedAnswer,
  recordedBytes,
} from './recorded.ts';

await test('the events of a recorded stream are in order', async (t) => {
  for (const name of [...cases, 'error-within']) t.equal(disorder(eventsOf(recordedBytes(name))), undefined, name);
});

await test('a recorded stream tells what the whole answer tells', async (t) => {
  for (const name of cases) {
    const { serviceTier: _, ...whole } = recordedAnswer(name);
    const streamed = folded(eventsOf(recordedBytes(name)));
    t.same(plain(streamed), plain(whole), name);
  }
});

await test('what went wrong within a stream is told in the words of the provider', async (t) => {
  const failure = { message: 'Provider disconnected', code: '502', type: 'server_error' };
  t.same(eventsOf(recordedBytes('error-within')).at(-1), { kind: 'failed', failure });
  for (const [text, told] of [
    ['data: {"error":"out of memory"}\n\n', 'out of memory'],
    ['event: error\ndata: {"message":"busy"}\n\n', 'busy'],
    ['data: {"object":"error","message":"too long","code":400}\n\n', 'too long'],
  ] as const) {
    const events = eventsOf(text);
    t.equal(disorder(events), undefined);
    t.match(events.at(-1), { kind: 'failed', failure: { message: told } });
  }
});

await test('a stream that breaks off is not finished', async (t) => {
  const begun = 'data: {"id":"a","choices":[{"delta":{"content":"Hi"}}]}\n\n';
  t.same(
    eventsOf(begun).map(({ kind }) => kind),
    ['started', 'opened', 'delta', 'closed'],
  );
  t.throws(() => eventsOf('data: {"id"\n\n'), { name: 'InvalidAnswer' });
  t.throws(() => eventsOf('data: [DONE]\n\n'), { name: 'InvalidAnswer' });
  const abort = 'data: {"choices":[{"delta":{},"finish_reason":"abort"}]}\n\n';
  t.match(eventsOf(begun + abort).at(-1), { kind: 'failed', failure: { code: 'abort' } });
  const reason = 'data: {"id":"a","choices":[{"delta":{},"finish_reason":"length"}]}\n\n';
  t.same(eventsOf(begun + reason).at(-1), { kind: 'finished', finish: { reason: 'length' } });
});

await test('chunks without a choice, and an end without a reason, are understood', async (t) => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  const answer = folded(
    eventsOfChunks(
      { id: '', choices: [], prompt_filter_results: [] },
      { id: 'a', model: 'm', choices: [{ index: 1, delta: { content: 'other' } }] },
      { id: 'a', model: 'm', choices: [{ index: 0, delta: { content: 'H' }, finish_reason: '' }] },
      { id: 'a', model: 'm', choices: [{ index: 0, delta: { content: 'i' }, finish_reason: null }] },
      { id: 'a', model: 'm', choices: null, usage },
    ),
  );
  t.match(answer, { parts: [{ kind: 'text', text: 'Hi' }], finish: { reason: 'stop' }, usage: { totalTokens: 3 } });
  t.equal(answer.parts.length, 1);
});

const named = (name: string, text: string, more: object = {}) => ({ function: { name, arguments: text }, ...more });
const added = (text: string, more: object = {}) => ({ function: { arguments: text }, ...more });
const oddCalls: Readonly<Record<string, readonly object[][]>> = {
  'the index is always 0': [[named('f', '{"a":1}', { index: 0, id: 'x' })], [named('g', '{}', { index: 0, id: 'y' })]],
  'the index is always 0 and there are no ids': [
    [named('f', '{"a":1}', { index: 0 })],
    [named('g', '{}', { index: 0 })],
  ],
  'no index': [[named('f', '{"a"', { id: 'x' })], [added(':1}')], [named('g', '', { id: 'y' })], [added('{}')]],
  'everything is repeated': [
    [named('f', '{"a"', { index: 0, id: 'x' })],
    [named('f', ':1}', { index: 0, id: 'x' }), named('g', '', { index: 1, id: 'y' })],
    [named('g', '{}', { index: 1, id: 'y' })],
  ],
  'each piece has an id of its own': [
    [named('f', '{"a"', { index: 0, id: 'x' })],
    [added(':1}', { index: 0, id: 'z' })],
    [named('g', '{}', { index: 1, id: 'y' })],
  ],
  'the name comes late': [
    [{ index: 0, id: 'x' }],
    [named('f', '{"a":1}', { index: 0 })],
    [{ index: 1, id: 'y' }],
    [named('g', '{}', { index: 1 })],
  ],
  'an empty object comes first': [
    [named('f', '{}', { index: 0, id: 'x' })],
    [added('{"a":', { index: 0 }), added('1}', { index: 0 })],
    [named('g', '{}', { index: 1, id: 'y' })],
  ],
  'the whole call comes once more': [
    [named('f', '{"a":1}', { index: 0, id: 'x' }), named('g', '{}', { index: 1, id: 'y' })],
    [named('f', '{"a":1}', { index: 0, id: 'x' }), named('g', '{}', { index: 1, id: 'y' })],
  ],
  'the arguments are an object': [
    [named('f', '', { index: 0, id: 'x' })],
    [{ index: 0, function: { arguments: { a: 1 } } }],
    [named('g', '', { index: 1 })],
  ],
};

await test('two calls are two calls, however a server names them', async (t) => {
  for (const [claim, deltas] of Object.entries(oddCalls)) {
    const events = eventsOfDeltas(...deltas.map((calls) => ({ tool_calls: calls }) as never));
    t.equal(disorder(events), undefined, claim);
    const { parts, finish } = folded(events);
    t.same(
      parts.map((part) => part.kind === 'tool_call' && [part.name, part.input]),
      [
        ['f', '{"a":1}'],
        ['g', '{}'],
      ],
      claim,
    );
    const ids = parts.flatMap((part) => (part.kind === 'tool_call' && part.id !== '' ? [part.id] : []));
    t.equal(new Set(ids).size, ids.length, claim);
    t.equal(finish.reason, 'tool_calls', claim);
  }
});

await test('the older function_call is a tool call', async (t) => {
  const { parts } = folded(
    eventsOfDeltas({ function_call: { name: 'f', arguments: '' } }, { function_call: { arguments: '{"a":1}' } }),
  );
  t.match(parts, [{ kind: 'tool_call', name: 'f', input: '{"a":1}' }]);
});

await test('calls cut anywhere and mixed arrive whole', async () => {
  const input = fc
    .dictionary(fc.string(), fc.string({ unit: anyCharacter }), { maxKeys: 3 })
    .map((object) => JSON.stringify(object));
  const calls = fc.array(fc.tuple(input, fc.array(fc.nat({ max: 40 }), { maxLength: 4 })), {
    minLength: 1,
    maxLength: 3,
  });
  fc.assert(
    fc.property(calls, fc.array(fc.nat(2), { maxLength: 20 }), (all, turns) => {
      const pieces = all.map(([text, cuts]) => piecesOf(text, cuts));
      const deltas = all.map((_, index) => ({
        tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: '' } }],
      }));
      for (const turn of [...turns, ...pieces.flatMap((list, index) => list.map(() => index))]) {
        const text = pieces[turn]?.shift();
        if (text !== undefined) deltas.push({ tool_calls: [{ index: turn, ...added(text) }] } as never);
      }
      const events = eventsOfDeltas(...deltas);
      const inputs = folded(events).parts.map((part) => part.kind === 'tool_call' && part.input);
      return disorder(events) === undefined && JSON.stringify(inputs) === JSON.stringify(all.map(([text]) => text));
    }),
    runs(200),
  );
});

function piecesOf(text: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)).toSorted((a, b) => a - b), text.length];
  return places.slice(1).map((end, index) => text.slice(places[index], end));
}

await test('an answer that is an error, or has no message, is refused', async (t) => {
  for (const body of [{}, { choices: [] }, { choices: [{ text: 'a' }] }, { error: { message: 'no' } }]) {
    t.throws(() => chatTranslation.readAnswer(body), { name: 'InvalidAnswer' });
  }
});
