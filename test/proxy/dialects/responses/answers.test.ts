// Recorded responses of OpenAI's format: read whole and as streams, and shown again.
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'tap';
import { AnswerFold } from '../../../../proxy/dialects/conversation/fold-events.ts';
import type { StreamEvent } from '../../../../proxy/dialects/conversation/stream-event.ts';
import { type JsonObject, parseObject } from '../../../../proxy/dialects/json/json.ts';
import { responsesTranslation } from '../../../../proxy/dialects/responses/translate.ts';
import { ServerEventSplitter } from '../../../../proxy/dialects/server-events.ts';
import { InvalidAnswer, type RawEvent } from '../../../../proxy/dialects/translation.ts';
import { answerContext } from './answer-context.ts';

const folder = new URL('../../../fixtures/answers/responses/', import.meta.url);
const cases = readdirSync(folder).flatMap((name) => (name.endsWith('.json') ? [name.slice(0, -'.json'.length)] : []));

function bytesOf(name: string): Buffer {
  return readFileSync(new URL(name, folder));
}

function answerOf(name: string): JsonObject {
  return parseObject(bytesOf(`${name}.json`).toString()) ?? {};
}

function rawEvents(bytes: Buffer): readonly RawEvent[] {
  const splitter = new ServerEventSplitter();
  return [...splitter.push(bytes), ...splitter.end()];
}

function read(events: readonly RawEvent[]): readonly StreamEvent[] {
  const reader = responsesTranslation.eventReader();
  return [...events.flatMap((event) => reader.read(event)), ...reader.end()];
}

function fold(events: readonly StreamEvent[]): AnswerFold {
  const folded = new AnswerFold();
  for (const event of events) folded.add(event);
  return folded;
}

/** Parts are opened in order, one at a time; nothing follows the end. */
function orderOf(events: readonly StreamEvent[]): string {
  const letters = { started: 's', opened: 'o', delta: 'd', closed: 'c', usage: 'u', finished: 'f', failed: 'x' };
  return events.map(({ kind }) => letters[kind]).join('');
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

await test('a stream tells the answer that the JSON of the same response tells', async (t) => {
  t.equal(cases.length, 11);
  for (const name of cases) {
    const events = read(rawEvents(bytesOf(`${name}.sse`)));
    t.match(orderOf(events), /^s(od*c)+uf$/, name);
    const { serviceTier: _, ...answer } = responsesTranslation.readAnswer(answerOf(name));
    t.same(plain(fold(events).answer()), plain(answer), name);
  }
});

await test('a call arrives whole and with every digit, however its arguments are cut', async (t) => {
  const whole = '{"city":"Köln","days":[1,2],"id":12345678901234567890}';
  const [begin = [], deltas = [], end = []] = ['added', 'delta', 'done'].map((word) =>
    rawEvents(bytesOf('tools.sse')).filter(({ event }) => event?.endsWith(word) && /output_item|arguments/.test(event)),
  );
  const call = begin.at(-1);
  const sample = deltas[0];
  if (call === undefined || sample === undefined) throw new Error('the recorded stream has no call');
  for (let at = 0; at <= whole.length; at += 1) {
    const pieces = [whole.slice(0, at), whole.slice(at)].map((delta) => ({
      event: sample.event,
      data: JSON.stringify({ ...parseObject(sample.data), delta }),
    }));
    const part = fold(read([call, ...pieces, ...end.slice(-2)]))
      .answer()
      .parts.at(-1);
    if (part?.kind !== 'tool_call' || part.input !== whole) t.fail(`cut at ${at}`);
  }
});

await test('items that are streamed at once are told one after the other', async (t) => {
  const events = rawEvents(bytesOf('parallel-tools.sse'));
  const first = events.filter(({ data }) => data.includes('"output_index":0'));
  const second = events.filter(({ data }) => data.includes('"output_index":1'));
  const others = events.filter((event) => !first.includes(event) && !second.includes(event));
  const mixed = first.flatMap((event, index) => [event, ...(second[index] === undefined ? [] : [second[index]])]);
  const shuffled = [...others.slice(0, 2), ...mixed, ...second.slice(first.length), ...others.slice(2)];
  t.same(fold(read(shuffled)).answer(), fold(read(events)).answer());
});

await test('a server that sends no pieces, or not every event, is understood', async (t) => {
  for (const name of ['plain', 'tools', 'reasoning', 'refusal', 'free-text-tool']) {
    const events = rawEvents(bytesOf(`${name}.sse`));
    const whole = plain(fold(read(events)).answer());
    const without = (pattern: RegExp): readonly RawEvent[] => events.filter(({ event }) => !pattern.test(event ?? ''));
    t.same(plain(fold(read(without(/delta$/))).answer()), whole, `${name} without pieces`);
    t.same(
      plain(fold(read(without(/content_part|text\.done$|_part\.|arguments\.done/))).answer()),
      whole,
      `${name}, few`,
    );
    t.same(plain(fold(read(without(/delta$|added$|_part|text\.done$/))).answer()), whole, `${name}, items alone`);
  }
});

await test('what only the end of a response, or of its parts, tells is told once', async (t) => {
  for (const name of ['plain', 'tools', 'parallel-tools', 'reasoning', 'reasoning-text', 'refusal', 'free-text-tool']) {
    const events = rawEvents(bytesOf(`${name}.sse`));
    const whole = plain(fold(read(events)).answer());
    const those = (pattern: RegExp): readonly RawEvent[] => events.filter(({ event }) => pattern.test(event ?? ''));
    t.same(plain(fold(read(those(/created$|completed$/))).answer()), whole, `${name}, the whole at the end`);
    const parts = those(/created$|output_item\.added$|(text|refusal|arguments|input|part)\.done$|completed$/);
    const bare = parts.map((event) =>
      event.event?.endsWith('completed') ? { ...event, data: withoutOutput(event.data) } : event,
    );
    const { parts: told } = fold(read(bare)).answer();
    t.same(plain(told), (whole as { parts: unknown }).parts, `${name}, parts at their end`);
  }
});

function withoutOutput(data: string): string {
  const event = parseObject(data) ?? {};
  return JSON.stringify({ ...event, response: { ...(event['response'] as JsonObject), output: [] } });
}

await test('an item that is still open at the end is completed by the whole response', async (t) => {
  const text = (said: string) => ({ type: 'output_text', text: said, annotations: [] });
  const item = { id: 'm1', type: 'message', content: [text('Hello'), text(' again')] };
  const told = [
    { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, item_id: 'm1', delta: 'Hello' },
    { type: 'response.completed', response: { status: 'completed', output: [item] } },
  ].map((event) => ({ event: event.type, data: JSON.stringify(event) }));
  const { parts } = fold(read(told)).answer();
  t.match(parts, [{ text: 'Hello' }, { text: ' again' }]);
  t.equal(parts.length, 2);
});

await test('events that do not say which item they mean belong to the open one', async (t) => {
  const events = rawEvents(bytesOf('tools.sse')).map((event) => {
    const { output_index: _, ...data } = parseObject(event.data) ?? {};
    return { ...event, data: JSON.stringify(data) };
  });
  t.same(fold(read(events)).answer(), fold(read(rawEvents(bytesOf('tools.sse')))).answer());
});

await test('what fails in the middle ends what was open, in the words of the provider', async (t) => {
  for (const [name, code, message] of [
    ['failed', 'server_error', 'The model failed to generate a response.'],
    ['error', 'rate_limit_exceeded', 'Rate limit reached.'],
  ] as const) {
    const events = read(rawEvents(bytesOf(`${name}.sse`)));
    t.equal(orderOf(events), 'sodcx', name);
    t.same(events.at(-1), { kind: 'failed', failure: { message, code, type: null } });
  }
  const nested = {
    event: 'error',
    data: '{"type":"error","error":{"type":"server_error","code":7,"message":"Sorry."}}',
  };
  t.same(read([nested]).at(-1), { kind: 'failed', failure: { message: 'Sorry.', code: '7', type: 'server_error' } });
  const cut = rawEvents(bytesOf('plain.sse')).slice(0, -1);
  t.notOk(fold(read(cut)).isFinished, 'without the last event nothing is finished');
});

await test('an answer that is none is refused', async (t) => {
  t.throws(() => responsesTranslation.readAnswer({ status: 'completed' }), new InvalidAnswer('it has no output'));
  const failed = { status: 'failed', error: { code: 'invalid_prompt', message: 'No.' }, output: [] };
  t.throws(() => responsesTranslation.readAnswer(failed), new InvalidAnswer('its status is failed (invalid_prompt)'));
  t.throws(
    () => responsesTranslation.readAnswer({ status: 'queued', output: [] }),
    new InvalidAnswer('its status is queued'),
  );
  t.throws(() => responsesTranslation.readAnswer({ output: [{ type: 'function_call', id: 'f' }] }), /without a name/);
  t.throws(() => responsesTranslation.eventReader().read({ event: undefined, data: '<html>' }), /no JSON object/);
});

await test('an answer shown again says what it said', async (t) => {
  for (const name of cases) {
    const answer = responsesTranslation.readAnswer(answerOf(name));
    const shown = responsesTranslation.writeAnswer(answer, answerContext({ input: 'Hi' }));
    const { serviceTier: _, ...again } = responsesTranslation.readAnswer(shown);
    const { serviceTier: __, ...said } = answer;
    const usage = { ...said.usage, cacheWriteTokens: 0 };
    t.same(plain(again), plain({ ...said, usage }), name);
  }
});

await test('error bodies of every shape are read', async (t) => {
  const error = { message: 'Bad.', type: 'invalid_request_error', param: 'input', code: 'x' };
  t.match(responsesTranslation.readError(JSON.stringify({ error })), error);
  t.match(
    responsesTranslation.readError('{"type":"error","code":"c","message":"Bad.","param":null,"sequence_number":1}'),
    {
      message: 'Bad.',
      code: 'c',
      param: null,
      type: null,
    },
  );
  t.match(
    responsesTranslation.readError('{"object":"response","status":"failed","error":{"code":"c","message":"Bad."}}'),
    { code: 'c' },
  );
  t.match(responsesTranslation.readError('<html>'), { message: '<html>', code: null });
});
