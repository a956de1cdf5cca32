// Stage 3, and its part behind stage 7: what the guardrails say of a request and of its answer, and what they change.
import { wholeAnswer } from '../answer.ts';
import { type Call, readAnyCall } from '../call/call.ts';
import type { BodyCapture } from '../capture/body-capture.ts';
import type { EditableObject } from '../dialects/editing.ts';
import { refusal } from '../errors.ts';
import { guardrailsFor } from '../guardrails/applying.ts';
import { type Flow, run, settled } from '../guardrails/flow.ts';
import { GuardTap } from '../guardrails/guarded-stream.ts';
import { answerValues, shortBytes, writtenValues } from '../guardrails/guarded-values.ts';
import { type GuardedOperation, Guarding } from '../guardrails/guarding.ts';
import type { Outside } from '../guardrails/outside.ts';
import type { PutBack } from '../guardrails/put-back.ts';
import type { AnswerEdits } from '../guardrails/stream-editor.ts';
import { type OperationTexts, textsOf } from '../guardrails/texts-of.ts';
import { twinIn } from '../guardrails/twins.ts';
import { atOnce, inSlices } from '../pacing/slices.ts';
import type { Route, Snapshot } from '../snapshot/snapshot.ts';
import type { Recalled } from './recall.ts';
import { type Delivery, passWhole } from './relay.ts';

/** Whose request it is. */
interface GuardedTrip {
  readonly row: { readonly operation: GuardedOperation };
  readonly exchange: { readonly id: string; readonly gone: boolean };
  readonly principal: { readonly userPath: string } | undefined;
  readonly snapshot: Pick<Snapshot, 'guardrails' | 'audit'>;
  /** Records its bodies; undefined: they are not recorded. */
  readonly capture: BodyCapture | undefined;
  /** Whom guardrails may ask in its name. */
  readonly outside: Outside;
}

/** A call as the guardrails leave it. */
export interface Guarded extends Recalled {
  /** Where its name leads. */
  readonly named: Route;
}

/** The guardrails that hold for a call; undefined: none does. */
export function guarding(call: Pick<Call, 'model'>, named: Route, trip: GuardedTrip): Guarding | undefined {
  const { guardrails } = trip.snapshot;
  if (guardrails.length === 0 || textsOf[trip.row.operation] === undefined) return undefined;
  const userPath = trip.principal?.userPath ?? '/';
  const holding = guardrailsFor(guardrails, userPath, call.model, named);
  if (holding.length === 0) return undefined;
  const { capture, exchange, outside, row, snapshot } = trip;
  const { hasOriginals } = snapshot.audit;
  const room = capture && { hasOriginals, hasRoom: (bytes: number) => capture.hasRoomForRevisions(bytes) };
  return new Guarding(holding, { requestId: exchange.id, userPath, model: call.model, outside, room }, row.operation);
}

/** Gives the call, unchanged or revised. Throws, or rejects with, 400 `guardrail_blocked` and `duplicate_key`. Waits only for guardrails. */
export function guard(guarded: Guarded, rails: Guarding | undefined): Guarded | Promise<Guarded> {
  return rails === undefined ? guarded : run(revised(guarded, rails));
}

/** Guards a call that refers to nothing. */
export function guardCall(call: Call, rails: Guarding | undefined): Call | Promise<Call> {
  return rails === undefined ? call : run(revisedCall(call, rails));
}

/** The members that hold the words of a request: where one stood twice, a provider might obey the one that was not looked at. */
const spoken = new Set(
  'messages system instructions input prompt prediction suffix query documents tools functions max_tokens max_completion_tokens max_output_tokens'.split(
    ' ',
  ),
);

/** Throws 400 `duplicate_key` for a member of these that stands twice, or in another case, and for any that stands twice in an object. */
function* refuseTwins({ body, members }: Call): Flow<void> {
  const seen = new Set<string>();
  for (const { keyStart, keyEnd } of members) {
    const written = body.toString('utf8', keyStart, keyEnd);
    const key = written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written;
    const name = key.toLowerCase();
    if (!spoken.has(name)) continue;
    if (seen.has(name) || key !== name) throw refusal('duplicate_key', { param: name, fill: { key: name } });
    seen.add(name);
  }
  const work = twinIn(body);
  const key = body.length <= shortBytes ? atOnce(work) : yield* settled(inSlices(work));
  if (key !== undefined) throw refusal('duplicate_key', { param: key, fill: { key } });
}

function* revised(guarded: Guarded, rails: Guarding): Flow<Guarded> {
  const call = yield* revisedCall(guarded.call, rails);
  return call === guarded.call ? guarded : { ...guarded, call };
}

function* revisedCall(call: Call, rails: Guarding): Flow<Call> {
  yield* refuseTwins(call);
  const body = yield* rails.onRequest(call.body);
  if (body === call.body) return call;
  const read = yield* settled(readAnyCall(body));
  return { ...read, continues: call.continues };
}

/** Who gets the answer. */
type AnsweredTrip = Pick<GuardedTrip, 'exchange'> & { readonly guarding: Guarding | undefined };
interface GuardParts {
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
}

/**
 * The answer after guardrails, without the masked values of its request. Throws, or rejects with, 400
 * `guardrail_blocked`, and 502 for an answer that cannot be checked.
 */
export function guardAnswer(delivery: Delivery, trip: AnsweredTrip, parts: GuardParts): Delivery | Promise<Delivery> {
  const { guarding: rails, exchange } = trip;
  if (rails?.readsAnswer !== true || exchange.gone) return delivery;
  if (!delivery.answer.stream) return run(checked(delivery, rails));
  return rails.checksAnswer
    ? edited(delivery, rails, rails, (error) => parts.reportFailure(error, exchange.id))
    : delivery;
}

/**
 * The answer with the client's own words in the place of what stood for them. Throws, or rejects with, 502 for one that cannot be read.
 * Nothing waits where it is short.
 */
export function putBack(
  delivery: Delivery,
  { guarding: rails, exchange }: AnsweredTrip,
  parts: GuardParts,
): Delivery | Promise<Delivery> {
  const edits = rails?.puttingBack;
  const textsIn = rails?.texts.answer;
  if (rails === undefined || edits === undefined || textsIn === undefined || exchange.gone) return delivery;
  if (delivery.answer.stream) return edited(delivery, rails, edits, (error) => parts.reportFailure(error, exchange.id));
  return run(unmasked(delivery, edits, textsIn));
}

function* unmasked(delivery: Delivery, edits: PutBack, textsIn: NonNullable<OperationTexts['answer']>): Flow<Delivery> {
  const { answer, provider, taps } = delivery;
  const bytes = passWhole(taps, answer.body());
  const body = yield* objectIn(bytes, provider);
  const isChanged = yield* edits.onTexts(textsIn(body).texts);
  return withBody(delivery, edits.repeatAsked(body) || isChanged ? yield* writtenValues(body, bytes.length) : bytes);
}

/** A stream on its way through what changes it. */
function edited(delivery: Delivery, rails: Guarding, edits: AnswerEdits, report: (error: unknown) => void): Delivery {
  const { answer, taps } = delivery;
  return { ...delivery, taps: [...taps, new GuardTap({ guarding: rails, edits, answer, report })] };
}

/** The answer with what it may say, and nothing left to be done with its bytes. */
function* checked(delivery: Delivery, rails: Guarding): Flow<Delivery> {
  const { answer, provider, taps } = delivery;
  if (!answer.complete) {
    answer.cancel();
    throw unreadable('it is too long to be checked', provider);
  }
  const bytes = passWhole(taps, answer.body());
  if (!rails.checksAnswer) return withBody(delivery, bytes);
  const body = yield* objectIn(bytes, provider);
  const isChanged = yield* rails.onAnswer(body, bytes.length > shortBytes);
  return withBody(delivery, isChanged ? yield* writtenValues(body, bytes.length) : bytes);
}

/** Throws 502 `upstream_invalid_response`. */
function* objectIn(bytes: Buffer, provider: string | undefined): Flow<EditableObject> {
  const body = yield* answerValues(bytes);
  if (body === undefined)
    throw unreadable('it is no JSON object, or has too many values, so it cannot be checked', provider);
  return body;
}

function withBody(delivery: Delivery, told: Buffer): Delivery {
  const { status, contentType } = delivery.answer;
  return { ...delivery, answer: wholeAnswer(told, { status, contentType }), taps: [] };
}

function unreadable(reason: string, provider: string | undefined): Error {
  return refusal('upstream_invalid_response', { fill: { reason }, ...(provider === undefined ? {} : { provider }) });
}
