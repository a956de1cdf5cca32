// The conversation a call belongs to: named by a header or the body, else known by its beginning.
import * as fc from 'fast-check';
import { test } from 'tap';
import { readCall } from '../../proxy/call/call.ts';
import { CallContext, threadOf } from '../../proxy/call/thread.ts';
import { runs } from '../support/extent.ts';

const callOf = (body: object) => readCall(Buffer.from(JSON.stringify({ model: 'm', ...body })));
const threadIn = (body: object, headers: string[] = []): string | undefined => threadOf(headers, callOf(body));

const user = (content: unknown) => ({ role: 'user', content });
const assistant = { role: 'assistant', content: 'Good morning.' };
const system = { role: 'system', content: 'Be brief.' };

await test('a session is named by the first of its headers, then by the body', async (t) => {
  const body = { prompt_cache_key: 'key', user: 'ann' };
  const rows: [body: object, headers: string[], thread: string][] = [
    [body, ['Accept', '*/*', 'X-Session-Id', 's1'], 's1'],
    [body, ['agent-session-id', 's2', 'SESSION_ID', 's3'], 's3'],
    [body, ['X-Claude-Code-Session-Id', 's4'], 's4'],
    [body, ['x-session-id', ''], 'key'],
    [{ user: 'ann', session_id: 's5' }, [], 's5'],
    [{ conversation: 'conv_1' }, [], 'conv_1'],
    [{ conversation: { id: 'conv_2' } }, [], 'conv_2'],
    [{ user: 'ann', metadata: { user_id: 'u', session_id: 's6' } }, [], 's6'],
    [{ user: 'ann', metadata: { user_id: 'user_1_session_2' } }, [], 'user_1_session_2'],
    [{ user: 'ann', metadata: null, prompt_cache_key: '', session_id: 7 }, [], 'ann'],
    [{ user: 'Zoë "Z"' }, [], 'Zoë "Z"'],
    [{ user: 'ann', metadata: { note: 'x'.repeat(20_000), session_id: 'far' } }, [], 'ann'],
  ];
  for (const [said, headers, thread] of rows)
    t.equal(threadIn(said, headers), thread, JSON.stringify([said, headers]).slice(0, 90));
  t.equal(new CallContext(1, ['session-id', 's'], callOf({})).thread, 's');
});

await test('without a name, calls with the same beginning are one conversation', async (t) => {
  const first = threadIn({ messages: [system, user('Hello')] });
  t.type(first, 'string');
  t.equal(threadIn({ messages: [system, user('Hello'), assistant, user('And now?')], temperature: 1 }), first);
  for (const other of [
    { messages: [system, user('Hallo')] },
    { messages: [user('Hello')] },
    { messages: [system, user('Hello')], system: 'Be kind.' },
    {
      messages: [
        system,
        user([
          { type: 'text', text: 'Hello' },
          { type: 'text', text: '!' },
        ]),
      ],
    },
    { messages: [system, user([{ type: 'input_text', text: 'Hello' }])] },
  ])
    t.not(threadIn(other), first, JSON.stringify(other));
  const responses = threadIn({ instructions: 'Be brief.', input: [user('Hello')] });
  t.equal(threadIn({ instructions: 'Be brief.', input: [user('Hello'), assistant, user('More')] }), responses);
  t.not(threadIn({ input: [user('Hello')] }), responses);
});

await test('a mark of a prompt cache that moves on, and the form of a marked text, make no other conversation', async (t) => {
  const cache_control = { type: 'ephemeral', ttl: '1h' };
  const block = (text: string, more: object = {}) => ({ type: 'text', text, ...more });
  const quoting = 'Say "hello", \\ and [{"type":"text","text":"x","cache_control":{}}].';
  const first = threadIn({ system: 'Be brief.', messages: [user(quoting)] });
  const marked = block(quoting, { cache_control });
  const rows: [name: string, body: object][] = [
    ['a marked text', { system: 'Be brief.', messages: [user([marked])] }],
    ['a mark before its text', { system: 'Be brief.', messages: [user([{ cache_control, ...block(quoting) }])] }],
    ['no mark any more', { system: 'Be brief.', messages: [user([block(quoting)]), assistant, user([marked])] }],
    ['a type behind its text', { system: 'Be brief.', messages: [user([{ text: quoting, type: 'text' }]), assistant] }],
    ['marked instructions', { system: [block('Be brief.', { cache_control })], messages: [user(quoting), assistant] }],
    ['a mark that is null', { system: 'Be brief.', messages: [user([{ ...marked, cache_control: null }])] }],
  ];
  for (const [name, body] of rows) t.equal(threadIn(body), first, name);
  const spaced = (body: object): string | undefined =>
    threadOf([], readCall(Buffer.from(JSON.stringify({ model: 'm', ...body }, undefined, 1))));
  t.equal(
    spaced({ messages: [user([block('a', { cache_control }), block('b')])] }),
    spaced({ messages: [user([block('a'), block('b', { cache_control })]), assistant] }),
    'a mark between blocks, written with blanks',
  );
  t.not(threadIn({ system: 'Be brief.', messages: [user(quoting.replace('cache_control', 'other'))] }), first);
});

await test('a long beginning is told apart by its first 64 KiB', async (t) => {
  const image = 'x'.repeat(200_000);
  const first = threadIn({ messages: [user(image)] });
  t.equal(threadIn({ messages: [user(`${image}y`), assistant] }), first);
  t.not(threadIn({ messages: [user(`y${image}`)] }), first);
});

await test('a call without messages has no thread', async (t) => {
  for (const body of [{}, { input: 'text' }, { messages: 'text' }, { user: null }, { messages: null, metadata: [] }])
    t.equal(threadIn(body), undefined, JSON.stringify(body));
});

await test('no body makes it throw, and what it gives depends on the body alone', async () => {
  const name = fc.constantFrom('messages', 'input', 'metadata', 'user', 'conversation', 'system', 'session_id');
  const value = fc.oneof(
    fc.jsonValue(),
    fc.array(fc.record({ role: fc.constantFrom('user', 'x'), content: fc.jsonValue() })),
  );
  fc.assert(
    fc.property(fc.dictionary(name, value), (body) => {
      const thread = threadIn(body);
      return (thread === undefined || thread !== '') && threadIn(body) === thread;
    }),
    runs(500),
  );
});
