// What a target takes as names of tools and ids of calls: others are changed, alike wherever they stand, and the client gets its own back.
import { test } from 'tap';
import type { ConversationAnswer, ConversationRequest } from '../../../proxy/dialects/conversation/conversation.ts';
import type { Part } from '../../../proxy/dialects/conversation/parts.ts';
import type { StreamEvent } from '../../../proxy/dialects/conversation/stream-event.ts';
import type { Quirks } from '../../../proxy/dialects/quirks.ts';
import { type CallForms, callForms, callFormsOf, nineLetters } from '../../../proxy/dialects/tools/call-forms.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { fitCalls, OwnCalls } from '../../../proxy/translation/fit-calls.ts';

const requestOf = (names: readonly string[], ids: readonly string[]): ConversationRequest => {
  const calls = ids.map((id, index): Part => {
    return { kind: 'tool_call', id, name: names[index % names.length] ?? 'f', input: '{}', isFreeText: false };
  });
  const results = ids.map((callId, index): Part => {
    return {
      kind: 'tool_result',
      callId,
      name: names[index % names.length],
      content: [],
      isError: false,
      isFreeText: false,
    };
  });
  return {
    dialect: 'chat',
    system: [],
    turns: [
      { role: 'assistant', parts: calls },
      { role: 'user', parts: results },
    ],
    tools: names.map((name) => ({ kind: 'function', name })),
    toolChoice: { kind: 'tool', name: names[0] ?? 'f' },
    sampling: {},
    stop: [],
    stream: false,
    wantsUsage: false,
    ownMembers: [],
  };
};

/** All names and all ids of a request, in their order. */
function said({ tools, turns, toolChoice }: ConversationRequest) {
  const parts = turns.flatMap((turn) => turn.parts);
  return {
    offered: tools.map(({ name }) => name),
    chosen: toolChoice?.kind === 'tool' ? toolChoice.name : undefined,
    called: parts.flatMap((part) => (part.kind === 'tool_call' ? [[part.id, part.name]] : [])),
    answered: parts.flatMap((part) => (part.kind === 'tool_result' ? [[part.callId, part.name]] : [])),
  };
}

const fit = (request: ConversationRequest, forms: CallForms) => atOnce(fitCalls(request, forms));
const long = 'mcp__plugin_example-devtools-server_example-devtools__analyze_one_insight';
const names = [long, `${long}_too`, 'Files.Get One', 'Files:Get One', '9 lives', '工具', 'plain'];
const ids = [
  'a.b',
  'a:b',
  `call_${'x'.repeat(60)}`,
  `call_${'x'.repeat(61)}`,
  'toolu_01AbCdEfGhIjKlMnOp',
  'ok',
  'functions.f:0',
];

await test('what a server does not take becomes what it takes, and stays apart', (t) => {
  const taken: Record<string, [name: RegExp, id: RegExp, forms: CallForms]> = {
    chat: [/^[\w-]{1,64}$/, /^.{1,40}$/, callForms.chat],
    responses: [/^[\w-]{1,64}$/, /^.{1,64}$/, callForms.responses],
    messages: [/^[\w-]{1,128}$/, /^[\w-]+$/, callForms.messages],
    bedrock: [/^[\w-]{1,64}$/, /^[\w-]{1,64}$/, callForms.bedrock],
    gemini: [/^[A-Za-z_][\w.-]{0,63}$/, /./, callForms.gemini],
    mistral: [/^[\w-]{1,64}$/, /^[A-Za-z0-9]{9}$/, { ...callForms.chat, id: nineLetters }],
  };
  for (const [server, [name, id, forms]] of Object.entries(taken)) {
    const { offered, chosen, called, answered } = said(fit(requestOf(names, ids), forms).request);
    t.ok(
      offered.every((one) => name.test(one)),
      `${server}: ${offered.join(' ')}`,
    );
    t.ok(
      called.every(([one]) => id.test(one ?? '')),
      `${server}: ${called.join(' ')}`,
    );
    t.equal(new Set(offered).size, names.length, `${server}: names stay apart`);
    t.equal(new Set(called.map(([one]) => one)).size, ids.length, `${server}: ids stay apart`);
    t.same(called, answered, `${server}: a result is that of its call`);
    t.same(
      called.map(([, one]) => one),
      offered,
      `${server}: a call is that of its tool`,
    );
    t.equal(chosen, offered[0]);
  }
  t.end();
});

await test('a text is changed alike in each request, so that prompts stay the same; one that fits is not changed', (t) => {
  const once = said(fit(requestOf(names, ids), callForms.bedrock).request);
  const again = said(fit(requestOf([...names, 'more'], ['new.1', ...ids]), callForms.bedrock).request);
  t.same(again.offered.slice(0, names.length), once.offered);
  t.same(
    again.called.slice(1).map(([id]) => id),
    once.called.map(([id]) => id),
  );
  const request = requestOf(['plain'], ['call_1']);
  t.equal(fit(request, callForms.bedrock).request, request);
  t.end();
});

await test('a name that another one would become is left to its owner', (t) => {
  const [made = ''] = said(fit(requestOf(['a.b'], []), callForms.chat).request).offered;
  const { request, ownNames } = fit(requestOf(['a.b', made], []), callForms.chat);
  const [changed = '', kept] = said(request).offered;
  t.equal(kept, made);
  t.not(changed, made);
  t.same([...ownNames], [[changed, 'a.b']]);
  t.end();
});

let made = 0;
const newId = (): string => `new${++made}`;
const callOf = (id: string, name: string): Part => ({ kind: 'tool_call', id, name, input: '{}', isFreeText: false });
const answerOf = (...parts: Part[]): ConversationAnswer => ({
  id: 'a',
  model: 'm',
  parts,
  finish: { reason: 'tool_calls' },
});

await test('an answer calls tools by the names of the client, with ids that are new in the conversation', (t) => {
  const request = requestOf(['Files.Get One'], ['used']);
  const { request: told, ownNames } = fit(request, callForms.messages);
  const [name = ''] = said(told).offered;
  const own = new OwnCalls(request, ownNames, newId);
  const calls = [callOf('', name), callOf('used', name), callOf('given', name), callOf('given', 'other')];
  const { parts } = own.answer(answerOf(...calls));
  t.match(parts, [
    { id: 'call_new1', name: 'Files.Get One' },
    { id: 'call_new2', name: 'Files.Get One' },
    { id: 'given', name: 'Files.Get One' },
    { id: 'call_new3', name: 'other' },
  ]);
  t.match(own.answer(answerOf(callOf('given', name))).parts, [{ id: 'given' }], 'another answer to the same request');
  t.end();
});

await test('the same of a stream', (t) => {
  const request = requestOf(['a.b'], ['used']);
  const { request: told, ownNames } = fit(request, callForms.chat);
  const [name = ''] = said(told).offered;
  const opened = (index: number, id: string): StreamEvent => {
    return { kind: 'opened', index, part: { kind: 'tool_call', id, name, isFreeText: false } };
  };
  const whole: StreamEvent = { kind: 'opened', index: 2, part: { kind: 'whole', part: callOf('used', name) } };
  const text: StreamEvent = { kind: 'delta', index: 1, delta: { kind: 'text', text: '{}' } };
  const told1 = [opened(0, ''), opened(1, 'x'), text];
  const reader = new OwnCalls(request, ownNames, newId).reader({ read: () => told1, end: () => [whole] });
  t.match(
    [...reader.read({ event: undefined, data: '' }), ...reader.end()],
    [
      { part: { id: /^call_new/, name: 'a.b' } },
      { part: { id: 'x', name: 'a.b' } },
      text,
      { part: { part: { id: /^call_new/, name: 'a.b' } } },
    ],
  );
  t.end();
});

await test('an id that is used again becomes that of one call, with its result', (t) => {
  const result = (callId: string): Part => ({
    kind: 'tool_result',
    callId,
    content: [],
    isError: false,
    isFreeText: false,
  });
  const parts = [callOf('0', 'f'), result('0'), callOf('0', 'f'), callOf('0', 'g'), result('0'), result('0')];
  const request = { ...requestOf(['f'], []), turns: parts.map((part) => ({ role: 'user' as const, parts: [part] })) };
  const { called, answered } = said(fit(request, callForms.messages).request);
  t.equal(called[0]?.[0], '0', 'the first call keeps it');
  t.equal(new Set(called.map(([id]) => id)).size, 3);
  t.same(
    answered.map(([id]) => id),
    called.map(([id]) => id),
  );
  t.end();
});

await test('an empty name becomes one that is not', (t) => {
  const { called } = said(fit(requestOf([''], ['a']), callForms.messages).request);
  t.match(called, [['a', /^_\w+$/]]);
  t.end();
});

await test('a model has the forms of its maker in the format of another one', (t) => {
  const formsAt = (model: string, quirks: Quirks = {}) =>
    callFormsOf({ name: 'chat', callForms: callForms.chat }, { model, quirks });
  for (const model of ['mistralai/devstral-small', 'Mistral-Large-3', 'open-mixtral-8x7b'])
    t.equal(formsAt(model).id, nineLetters, model);
  t.equal(formsAt('gpt-5').id, callForms.chat.id);
  t.equal(formsAt('m', { callId: nineLetters }).id, nineLetters);
  t.equal(formsAt('google/gemini-2.5-pro').name?.beginning?.test('9'), false);
  t.equal(formsAt('gpt-5').name, callForms.chat.name);
  t.end();
});
