// Trips of the gateway's own questions to a model: what each stage of the line does for them. A question has no head and no credentials; it
// owns its timer, and has a record of its own.
import { type Call, readCall } from '../../call/call.ts';
import { RequestFacts } from '../../call/request-facts.ts';
import { type JsonObject, parseObject, writeJson } from '../../dialects/json/json.ts';
import { type ModelRow, modelEndpoints } from '../../endpoints/model-endpoints.ts';
import { type Refusal, refusal } from '../../errors.ts';
import { partWithoutClients } from '../../stages/client-part.ts';
import type { Delivery, Ending } from '../../stages/relay.ts';
import { resolve } from '../../stages/resolve.ts';
import type { AuxiliaryOutcome } from '../../tallies/auxiliary-tally.ts';
import type { TripKind } from '../kind.ts';
import { askTargets } from './ask-targets.ts';
import { OwnTrip, ownTrips } from './own-trip.ts';
import { type AuxiliaryParts, callerOf, type Question, requestFor, type ServedRequest, sessionOf } from './question.ts';
import { readDelivery } from './read-delivery.ts';

/** Who waits for the answer. */
export interface QuestionAsker {
  resolve(answer: JsonObject): void;
  reject(reason: Refusal): void;
}

const rowOf = (operation: Question['operation']): ModelRow => {
  const row = modelEndpoints.find((endpoint) => endpoint.operation === operation);
  if (row === undefined) throw new Error(`no endpoint is for ${operation}`);
  return row;
};

export class QuestionTrip extends OwnTrip {
  readonly question: Question;
  readonly row: ModelRow;
  readonly sessionId: string | undefined;
  readonly asker: QuestionAsker;
  /** Stage 3. */
  call: Call | undefined;
  /** Stage 8. */
  answer: JsonObject | undefined;

  constructor(question: Question, served: ServedRequest, asker: QuestionAsker, parts: AuxiliaryParts) {
    super(requestFor(served, parts), served.snapshot);
    this.principal = callerOf(question, served);
    this.sessionId = sessionOf(served);
    this.question = question;
    this.row = rowOf(question.operation);
    this.asker = asker;
  }

  readonly leave = (): void => this.breakOff(refusal('client_left'));
}

/** The spec of questions of the gateway itself. Its functions throw, or reject with, a Refusal. */
export function questionKind(parts: AuxiliaryParts): TripKind<QuestionTrip, Delivery> {
  return {
    ...ownTrips,
    // Its caller is that of the request that it serves.
    identify(trip) {
      const { question, snapshot, caller } = trip;
      if (question.signal?.aborted) {
        trip.leave();
        throw refusal('client_left');
      }
      // A guardrail's question holds the client's words before guardrails have passed them.
      const isOriginal = question.purpose === 'guardrails' && !snapshot.audit.hasOriginals;
      trip.capture = isOriginal ? undefined : parts.records.capture(snapshot, caller.userPath);
      trip.call = readCall(Buffer.from(writeJson({ ...question.body, stream: undefined })));
      trip.capture?.takeRequest(trip.call.body);
      trip.capture?.takeGuarded(trip.call.body);
    },
    receive(trip) {
      const { call, question } = trip;
      question.signal?.addEventListener('abort', trip.leave, { once: true });
      trip.endAfter(question.timeoutMs, call?.model ?? '');
    },
    attempt: (trip) => askForAnswer(trip, parts),
    relay: (trip, delivery) => readAnswer(trip, delivery),
    close(trip) {
      const { answer, asker, ending, exchange, question } = trip;
      trip.over();
      question.signal?.removeEventListener('abort', trip.leave);
      parts.metrics.auxiliary.note(question.purpose, outcomeOf(trip));
      if (answer !== undefined && ending.refused === undefined) asker.resolve(answer);
      else asker.reject(ending.refused ?? refusal('internal_error', { fill: { request_id: exchange.id } }));
    },
  };
}

function askForAnswer(trip: QuestionTrip, parts: AuxiliaryParts): Promise<Delivery> {
  const { caller, call, exchange, row, snapshot } = trip;
  if (call === undefined) throw new Error('a question was asked before it was written');
  const facts = new RequestFacts({
    caller,
    endpoint: row.path,
    stream: false,
    // Headers of the client go nowhere.
    rawHeaders: [],
    said: call,
    localTime: snapshot.localTime,
    startedAtMs: exchange.startedAtMs,
  });
  const named = partWithoutClients(resolve(call, snapshot, undefined, facts), snapshot);
  return askTargets(trip, { call, named }, parts);
}

/** Rejects where the answer broke off, is not needed any more, or is no JSON object. */
async function readAnswer(trip: QuestionTrip, delivery: Delivery): Promise<Ending> {
  const { exchange } = trip;
  const { body, broken } = await new Promise<{ body: Buffer; broken: Refusal | undefined }>((told) => {
    readDelivery(delivery, exchange, (come, why) => told({ body: come, broken: why }));
  });
  const refused = trip.left ?? broken;
  if (refused !== undefined) throw refused;
  trip.answer = parseObject(body.toString('utf8'));
  if (trip.answer !== undefined) return { status: 200, headers: [], refused: undefined };
  const provider = trip.accepted?.target.upstream.name ?? '';
  throw refusal('upstream_invalid_response', { provider, fill: { reason: 'it is not a JSON object' } });
}

function outcomeOf({ accepted, ending: { refused }, failed, left }: QuestionTrip): AuxiliaryOutcome {
  if (refused === undefined) return 'answered';
  if (left !== undefined) return left.code === 'client_left' ? 'cancelled' : 'timeout';
  return accepted === undefined && failed.length === 0 ? 'refused' : 'failed';
}
