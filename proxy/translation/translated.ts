// A call in the words of its target, and the target's answer in the words of the client.
import { randomId } from '../../domain/random-id.ts';
import type { ConversationAnswer } from '../dialects/conversation/conversation.ts';
import { checkNestedValues } from '../dialects/conversation/nested-values.ts';
import { type JsonObject, textOf } from '../dialects/json/json.ts';
import { tellOwnParts } from '../dialects/own-losses.ts';
import { toldOtherwise } from '../dialects/told-otherwise.ts';
import { callFormsOf } from '../dialects/tools/call-forms.ts';
import type { AnswerContext, EventReader, EventWriter, ProviderDialect } from '../dialects/translation.ts';
import { InvalidAnswer } from '../dialects/translation.ts';
import { refusal } from '../errors.ts';
import { parsedObject, writtenBody } from '../http/parsed-body.ts';
import { type Slices, shortBytes } from '../pacing/slices.ts';
import type { TargetSpeech } from '../providers/target-speeches.ts';
import { clientPlace } from './client-place.ts';
import type { Spoken } from './conversation-of.ts';
import { fitCalls, OwnCalls } from './fit-calls.ts';
import { LossList, type UnsupportedPolicy } from './losses.ts';
import { oneCallReader, withOneCall } from './one-call.ts';

/** The facts of a target that a translation needs. */
export interface SpokenTo {
  readonly model: string;
  readonly upstream: { readonly name: string; readonly unsupported: UnsupportedPolicy };
}

/** One call that is translated for one target. */
export interface Translated {
  readonly spoken: Spoken;
  readonly target: SpokenTo;
  readonly dialect: ProviderDialect;
  readonly body: Buffer;
  /** Restores the calls of the answer. */
  readonly ownCalls: OwnCalls;
  /** The members that were left out, by the client's names. */
  readonly dropped: readonly string[];
}

/**
 * Throws 400 `unsupported_parameter` when the target cannot be told what the call means, 404 `kept_not_found` when it names an item that is not
 * kept: the target does not know it either.
 */
export function* translate(
  spoken: Spoken,
  target: SpokenTo,
  { quirks }: Pick<TargetSpeech, 'quirks'>,
  dialect: ProviderDialect,
): Slices<Translated> {
  if (dialect.name !== 'responses' && target.upstream.unsupported !== 'drop') checkReferences(spoken);
  const losses = new LossList(target.upstream.name, target.upstream.unsupported, spoken.itemsBefore);
  const place = { model: target.model, quirks };
  const { request, ownNames } = yield* fitCalls(
    toldOtherwise(spoken.request, dialect.name, quirks),
    callFormsOf(dialect, place),
  );
  const written = dialect.writeRequest(request, place, losses);
  if (dialect.name !== request.dialect) tellOwnParts(request, losses);
  const body = yield* writtenBody(written, spoken.bytes > shortBytes);
  const ownCalls = new OwnCalls(spoken.request, ownNames, randomId);
  return { spoken, target, dialect, body, ownCalls, dropped: losses.dropped };
}

function checkReferences({ request: { dialect, turns }, itemsBefore }: Spoken): void {
  if (dialect !== 'responses') return;
  for (const part of turns.flatMap(({ parts }) => parts)) {
    if (part.kind !== 'foreign' || part.name !== 'item_reference') continue;
    const id = (textOf(part.value['id']) ?? '').slice(0, 200);
    const param = clientPlace(part.place ?? 'input', itemsBefore);
    throw refusal('kept_not_found', { param, fill: { what: 'item', id } });
  }
}

/** The answer that a whole body holds. Throws an InvalidAnswer. */
export function* readAnswer({ dialect, ownCalls, spoken }: Translated, body: Buffer): Slices<ConversationAnswer> {
  const parsed = yield* parsedObject(body);
  if (parsed === undefined) throw new InvalidAnswer('it is not a JSON object, or has too many values');
  const answer = dialect.readAnswer(parsed);
  if (body.length > shortBytes) yield* checkNestedValues(answer.parts);
  const own = ownCalls.answer(answer);
  return spoken.request.parallelTools === false ? withOneCall(own) : own;
}

/** Reads the events of a streamed answer. */
export function eventReader({ dialect, ownCalls, spoken }: Translated): EventReader {
  const own = ownCalls.reader(dialect.eventReader());
  return spoken.request.parallelTools === false ? oneCallReader(own) : own;
}

/** The functions that cut its stream into events, and read them. */
export function eventsOf(translated: Translated): Pick<ProviderDialect, 'eventReader' | 'eventSplitter'> {
  const { dialect } = translated;
  return { ...dialect, eventReader: () => eventReader(translated) };
}

/** The answer in the client's dialect. `nowMs`: Unix milliseconds. */
export function writeAnswer(translated: Translated, answer: ConversationAnswer, nowMs: number): JsonObject {
  return translated.spoken.client.writeAnswer(answer, contextOf(translated, nowMs));
}

/** Writes the events of a streamed answer in the client's dialect. */
export function eventWriter(translated: Translated, nowMs: number): EventWriter {
  return translated.spoken.client.eventWriter(contextOf(translated, nowMs));
}

/** A longer request is not repeated in answers. Bytes. */
const mostRepeated = 1024 * 1024;

function contextOf({ spoken, target }: Translated, nowMs: number): AnswerContext {
  const { request, body, bytes } = spoken;
  const isLong = bytes > mostRepeated;
  return { model: target.model, nowSeconds: Math.floor(nowMs / 1000), newId: randomId, request, body, isLong };
}
