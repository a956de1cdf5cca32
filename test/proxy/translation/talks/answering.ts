// Has a provider answer a client's request, as a whole and as a stream, and the client send the answer back.
import { isDeepStrictEqual } from 'node:util';
import type { Failure, Sink } from '../../../../proxy/answer.ts';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import { atOnce } from '../../../../proxy/pacing/slices.ts';
import { readAnswer, type Translated, writeAnswer } from '../../../../proxy/translation/translated.ts';
import { TranslationTap } from '../../../../proxy/translation/translation-tap.ts';
import { type Spoken, sayable, spokenBy } from './answers.ts';
import { asked, frozen, type Pair, sentBy } from './asking.ts';
import { requestOf } from './client-requests.ts';
import { type Heard, type HeardTool, heardBy } from './heard.ts';
import { inOrder, type Received, receivedStream, receivedWhole } from './received.ts';
import { returnComplaints } from './returning.ts';
import { isCall, isSpoken, isThought, type Pace, type SaidAnswer } from './said-answer.ts';
import { isFreeFor, type Talk } from './talk.ts';

/** One answer on its way to one client. */
export interface Answering {
  readonly pair: Pair;
  readonly talk: Talk;
  readonly said: SaidAnswer;
  readonly pace: Pace;
}

export interface Answered extends Answering {
  readonly body: JsonObject;
  readonly translated: Translated;
  readonly heard: Heard;
  readonly spoken: Spoken;
}

export function answered({ pair, talk, said: given, pace }: Answering): Answered {
  const body = { ...requestOf(pair.client, { ...talk, stream: true }).body };
  const translated = asked(pair, body, 'drop');
  const heard = heardBy(pair.provider, sentBy(translated));
  const takesText = ({ description }: HeardTool): boolean =>
    talk.tools.some((tool) => isFreeFor(pair.client, tool) && description.startsWith(tool.description));
  const all = frozen(sayable(pair.provider, given, heard.tools, takesText));
  const said = translated.spoken.request.parallelTools === false ? frozen(withOneCall(all)) : all;
  return { pair, talk, said, pace, body, translated, heard, spoken: spokenBy(pair.provider, all, heard.tools, pace) };
}

/** What a client gets that takes one call at a time. */
function withOneCall(said: SaidAnswer): SaidAnswer {
  const first = said.parts.findIndex(isCall);
  return { ...said, parts: said.parts.filter((part, index) => !isCall(part) || index === first) };
}

/** The whole answer as the client gets it. */
export function wholeBody({ translated, spoken }: Answered): JsonObject {
  const answer = frozen(atOnce(readAnswer(translated, Buffer.from(JSON.stringify(spoken.whole)))));
  return JSON.parse(JSON.stringify(writeAnswer(translated, answer, 0))) as JsonObject;
}

/** The same as the client reads it. */
export function wholeOf(done: Answered): Received {
  return receivedWhole(done.pair.client, wholeBody(done));
}

/** A stream as the client gets it. */
interface Streamed {
  text: string;
  failure: Failure | undefined;
}

/** The stream that the client gets, chunk after chunk: each step passes one. */
function* streaming({ pair, translated, spoken, pace }: Answered): Generator<undefined, Streamed, undefined> {
  const heard: Streamed = { text: '', failure: undefined };
  const client: Sink = {
    write: (chunk) => {
      heard.text += chunk.toString();
      return true;
    },
    end: (failure) => {
      heard.failure = failure;
    },
  };
  const answer = { stream: true, resume: () => undefined, cancel: () => undefined };
  const report = (error: unknown): void => {
    throw error;
  };
  const asker = { operation: pair.client, call: { body: translated.body } };
  const tap = new TranslationTap({
    answer,
    translated,
    read: undefined,
    report,
    asked: asker,
    secrets: [],
    readsUsage: true,
    nowMs: 0,
  });
  const sink = tap.open(client);
  for (let at = 0, turn = 0; at < spoken.stream.length; turn += 1) {
    const end = at + (pace.chunks[turn % pace.chunks.length] ?? 1);
    const chunk = Buffer.from(spoken.stream.subarray(at, end));
    sink.write(chunk);
    // A reader of bytes may use its buffer again.
    chunk.fill(0);
    at = end;
    yield;
  }
  sink.end(undefined);
  return heard;
}

/** A stream that may be broken. */
export function streamedText(done: Answered): Streamed {
  return atOnce(streaming(done));
}

/** The stream as the client reads it. Throws where it was broken off. */
export function* streamOf(done: Answered): Generator<undefined, Received, undefined> {
  const { text, failure } = yield* streaming(done);
  if (failure !== undefined) throw new Error(`the stream was broken off: ${JSON.stringify(failure)}`);
  return receivedStream(done.pair.client, text);
}

/** What is wrong between what providers said and what clients got, as a whole, as a stream, and when they send it back, to the same provider or to another one: two answers at the same time. */
export function answerComplaints(...both: readonly [Answering, Answering]): readonly string[] {
  const [one, other] = [answered(both[0]), answered(both[1])];
  const alone = { whole: wholeOf(one), stream: atOnce(streamOf(one)) };
  const beside = { whole: wholeOf(other), stream: atOnce(streamOf(other)) };
  const together = inTurns(streamOf(one), streamOf(other));
  const made = [alone.whole, alone.stream, together[0]].flatMap((got) => madeIds(got, one));
  const madeBeside = [beside.whole, beside.stream, together[1]].flatMap((got) => madeIds(got, other));
  const ids = [...made, ...madeBeside];
  return [
    ...difference('a whole answer', alone.whole, alone.stream, one),
    ...difference('an answer beside another one', together[0], alone.stream, one),
    ...difference('the other answer', together[1], beside.stream, other),
    ...(new Set(ids).size === ids.length ? [] : [`ids are made twice: ${ids.join(', ')}`]),
    ...shownComplaints(alone.whole, one),
    ...returnComplaints(alone.whole, one, one.pair),
    ...returnComplaints(alone.stream, one, one.pair),
    ...returnComplaints(alone.stream, one, { ...other.pair, client: one.pair.client }),
  ];
}

/** Steps of all in turns. */
function inTurns<Result>(...all: readonly Generator<undefined, Result, undefined>[]): (Result | undefined)[] {
  const results: (Result | undefined)[] = [];
  let open = all.map((work, at) => ({ work, at }));
  while (open.length > 0) {
    open = open.filter(({ work, at }) => {
      const step = work.next();
      if (step.done === true) results[at] = step.value;
      return step.done !== true;
    });
  }
  return results;
}

function difference(what: string, got: Received | undefined, streamed: Received, done: Answered): readonly string[] {
  const [one, other] = [got && comparable(got, done), comparable(streamed, done)];
  return isDeepStrictEqual(one, other)
    ? []
    : [`${what} is\n${JSON.stringify(one)}\nand streamed alone\n${JSON.stringify(other)}`];
}

function madeIds(got: Received | undefined, { said, pair }: Answered): readonly string[] {
  const given = said.parts.filter(isCall);
  const isMade = pair.provider === 'chat' || pair.provider === 'gemini';
  return isMade ? (got?.calls ?? []).flatMap(({ id }, at) => (given[at]?.id === undefined ? [id] : [])) : [];
}

/** Ids that are made are others in each answer. */
function comparable({ calls, kept, ...received }: Received, { said }: Answered): unknown {
  const given = said.parts.filter(isCall);
  const made = calls.flatMap(({ id }, at) => (given[at]?.id === undefined ? [id] : []));
  let text = JSON.stringify({ ...received, calls, kept });
  for (const [at, id] of made.entries()) text = text.replaceAll(JSON.stringify(id), `"made ${at}"`);
  // What carries the proof of a call names its id.
  return JSON.parse(text.replaceAll(/gw1\.[\w-]+/g, (packed) => (made.length === 0 ? packed : 'packed')));
}

/** The client gets what was said, as far as its format has words for it. */
function shownComplaints(received: Received, { said, pair, talk }: Answered): readonly string[] {
  const { client } = pair;
  const spoken = said.parts.filter(isSpoken);
  const isRefused = pair.provider === 'chat' || pair.provider === 'responses';
  const sorted =
    client === 'chat' && isRefused
      ? spoken.toSorted((one, other) => (one.kind < other.kind ? 1 : one.kind > other.kind ? -1 : 0))
      : spoken;
  const text = sorted.map((part) => part.text).join('');
  const thoughts = said.parts.filter(isThought).map((part) => part.text);
  const calls = client === 'completions' ? [] : said.parts.filter(isCall);
  const wrong =
    received.text === text ? [] : [`the text ${JSON.stringify(text)} became ${JSON.stringify(received.text)}`];
  const plain = (words: string): string => words.replaceAll('\n\n', '');
  if (client !== 'completions' && plain(received.thoughts) !== plain(thoughts.join('')))
    wrong.push(`the thoughts ${JSON.stringify(thoughts)} became ${JSON.stringify(received.thoughts)}`);
  const order = inOrder(
    said.parts.flatMap((part) => {
      if (part.kind === 'call') return ['call'];
      return part.text === '' ? [] : [part.kind === 'refusal' ? 'text' : part.kind];
    }),
  );
  if (received.order !== undefined && !isDeepStrictEqual(received.order, order))
    wrong.push(`${order.join(', ')} came as ${received.order.join(', ')}`);
  if (received.calls.length !== calls.length)
    return [...wrong, `${calls.length} calls became ${received.calls.length}`];
  for (const [at, call] of calls.entries()) {
    const got = received.calls[at];
    if (!talk.tools.some(({ name }) => name === got?.name)) wrong.push(`a call of ${got?.name} is one of no tool`);
    if (call.id !== undefined && call.id !== got?.id) wrong.push(`the id ${call.id} became ${got?.id}`);
    if (!isDeepStrictEqual(got?.input, call.input))
      wrong.push(`the input ${JSON.stringify(call.input)} became ${JSON.stringify(got?.input)}`);
  }
  const isCut = /^(length|max_tokens|incomplete)$/.test(received.finish);
  if (isCut !== said.isCut) wrong.push(`it ended with ${received.finish}, ${said.isCut ? '' : 'not '}being cut`);
  const counts = Object.values(received.usage ?? {});
  if (!counts.includes(said.usage.output))
    wrong.push(`${said.usage.output} tokens of output became ${JSON.stringify(received.usage)}`);
  return wrong;
}
