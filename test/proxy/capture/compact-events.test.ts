// Events that are put together say what they said one by one.
import { isDeepStrictEqual } from 'node:util';
import { test } from 'tap';
import { compactEvents } from '../../../proxy/capture/compact-events.ts';
import { foldFor } from '../../../proxy/capture/folds.ts';
import { StreamCapture } from '../../../proxy/capture/stream-capture.ts';
import type { StreamFold } from '../../../proxy/capture/stream-fold.ts';

const event = (choices: object | readonly object[], more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', created: 1, model: 'm', choices, ...more })}\n\n`;
const piece = (delta: object, more: object = {}, finish_reason: string | null = null): string =>
  event([{ index: 0, delta, ...more, finish_reason }]);
const text = (content: string): string => piece({ content });
const begun = piece({ role: 'assistant', content: '' });
const ended = `${piece({}, {}, 'stop')}${event([], { usage: { prompt_tokens: 1, completion_tokens: 2 } })}data: [DONE]\n\n`;
const words = ['a', ' b', '"', '\\', '\n', 'ü', '\u{1f600}', '', '},{"delta":{"content":"x"'];
const twice = (made: string): string => made.repeat(2);
const called = { index: 0, id: 't', function: { name: 'f', arguments: 'x' } };
const logprobs = { content: [{ token: 'a', logprob: -1 }] };

const streams: Readonly<Record<string, string>> = {
  words: words.map(text).join(''),
  'a role in each': words.map((content) => piece({ role: 'assistant', content, refusal: null })).join(''),
  thoughts: `${twice(piece({ reasoning_content: 'hm' }))}${twice(text('so'))}`,
  padding: words
    .map((content, at) => event([{ index: 0, delta: { content } }], { obfuscation: 'x'.repeat(at) }))
    .join(''),
  'probabilities twice': twice(piece({ content: 'a' }, { logprobs })),
  'thoughts beside words': twice(piece({ content: 'a', reasoning_content: 'b' })),
  'two choices': twice(event([0, 1].map((index) => ({ index, delta: { content: 'a' } })))),
  'calls of tools': ['{"', 'a":1}']
    .map((args, at) =>
      piece({ tool_calls: [{ index: 0, ...(at ? {} : { id: 't' }), function: { name: 'f', arguments: args } }] }),
    )
    .join(''),
  'an escape that JSON does not know': [text('a'), text('b').replace('"b"', '"\\q"'), text('c')].join(''),
  'half an escape': [text('a'), text('b').replace('"b"', '"\\u12"'), text('c')].join(''),
  'a control character': [text('a'), text('b').replace('"b"', '"\t"'), text('c')].join(''),
  'other ends of lines': twice(`${text('a').replace('\n\n', '\r\n\r\n')}${text('c')}`),
  'several lines of data': twice(piece({ content: 'a' }, { logprobs }).replace(',"logprobs"', '\ndata: ,"logprobs"')),
  'probabilities before words': twice(event([{ index: 0, logprobs, delta: { content: 'a' }, finish_reason: null }])),
  'calls of another choice': twice(
    event([
      { index: 1, delta: { tool_calls: [called] } },
      { index: 0, delta: { content: 'a' } },
    ]),
  ),
  'a refusal of another choice': twice(
    event([
      { index: 1, delta: { refusal: 'x' } },
      { index: 0, delta: { content: 'a' } },
    ]),
  ),
  'a message of another choice': twice(
    event([
      { index: 0, delta: { content: 'a' } },
      { index: 1, message: { content: 'm' } },
    ]),
  ),
  'a delta within another member': twice(
    event([{ index: 0, x: { delta: { content: 'x' } }, delta: { content: 'b' } }]),
  ),
  'nothing beside': words.map((content) => piece({ tool_calls: null, content, reasoning_content: null })).join(''),
  'nothing beside thoughts': words
    .map((said) => piece({ content: null, reasoning_content: said, role: 'assistant' }))
    .join(''),
  'a model of its own': words.map((content, at) => event([{ index: 0, delta: { content } }], { created: at })).join(''),
};

/** What is made of a stream that comes in one piece, or in several; `compacts`: by way of fewer events. */
function answerOf(pieces: readonly string[], compacts = false): object | undefined {
  const fold = foldFor('chat');
  if (fold === undefined) throw new Error('streams of chat make an answer');
  const plain: StreamFold = { add: (one) => fold.add(one), answer: (context) => fold.answer(context) };
  const capture = new StreamCapture(compacts ? fold : plain, 100_000);
  for (const bytes of pieces) capture.push(Buffer.from(bytes, 'latin1'));
  return capture.answer({ requestBody: undefined, model: 'm', nowMs: 0 });
}

await test('the answer is the same, wherever the events were cut', (t) => {
  for (const [claim, said] of Object.entries(streams)) {
    const stream = Buffer.from(`${begun}${said}${ended}`).toString('latin1');
    const expected = answerOf([stream]);
    t.ok(expected, claim);
    t.same(answerOf([compactEvents(stream)]), expected, claim);
    for (let at = 0; at < stream.length; at += 7)
      if (compactEvents(compactEvents(stream.slice(0, at)) + stream.slice(at)) !== compactEvents(stream))
        t.same(
          answerOf([compactEvents(compactEvents(stream.slice(0, at)) + stream.slice(at))]),
          expected,
          `${claim} at ${at}`,
        );
  }
  t.end();
});

await test('words become one event', (t) => {
  const stream = `${begun}${['a', ' b', ' c'].map(text).join('')}${ended}`;
  t.equal(compactEvents(stream), `${begun}${text('a b c')}${ended}`);
  const wordy = (content: string): string => piece({ content, role: 'assistant', reasoning_content: null });
  t.equal(compactEvents(wordy('a') + wordy(' b')), wordy('a b'), 'whatever says nothing beside');
  t.equal(compactEvents(''), '');
  t.end();
});

await test('a stream that is read in portions makes the same answer', (t) => {
  for (const [claim, said] of Object.entries(streams)) {
    const stream = Buffer.from(`${begun}${said.repeat(40)}${ended}`).toString('latin1');
    const different = Array.from({ length: 43 }, (_, more) => 16 * 1024 + 7 * more).filter((portion) => {
      const pieces = [stream.slice(0, portion), stream.slice(portion)];
      return !isDeepStrictEqual(answerOf(pieces, true), answerOf(pieces));
    });
    t.same(different, [], `${claim}: portions that change it`);
  }
  t.end();
});

await test('a text of many megabytes is no piece of another one', (t) => {
  const long = text('x'.repeat(9 * 2 ** 20));
  t.equal(compactEvents(long + long), long + long);
  t.end();
});
