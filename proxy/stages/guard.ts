// Stage 3, and its part behind stage 7: what the guardrails say of a request and of its answer, and what they change.
import { wholeAnswer } from '../answer.ts';
import { type Call, largeBytes, readCall, readLargeCall } from '../call/call.ts';
import type { Operation } from '../dialects/dialect.ts';
import { editable } from '../dialects/editing.ts';
import { parseObject, writeJson } from '../dialects/json.ts';
import { refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { guardrailsFor } from '../guardrails/applying.ts';
import { type Flow, run, settled } from '../guardrails/flow.ts';
import { GuardTap } from '../guardrails/guarded-stream.ts';
import { Guarding } from '../guardrails/guarding.ts';
import type { Outside } from '../guardrails/outside.ts';
import { atOnce, inSlices } from '../guardrails/slices.ts';
import { textsOf } from '../guardrails/texts-of.ts';
import { twinIn } from '../guardrails/twins.ts';
import type { Route, Snapshot } from '../snapshot/snapshot.ts';
import { decodeBody } from '../upstream/decode-body.ts';
import type { Recalled } from './recall.ts';
import { type Delivery, passWhole } from './relay.ts';

/** A longer answer is not checked, so it is not told. Bytes. */
export const checkedBytes = 16 * 1024 * 1024;

/** A body of so many bytes is read without a pause. */
const shortBytes = 256 * 1024;

/** Whose request it is. */
interface GuardedTrip {
  readonly row: { readonly operation: Operation };
  readonly exchange: { readonly id: string; readonly gone: boolean };
  readonly principal: { readonly userPath: string } | undefined;
  readonly snapshot: Pick<Snapshot, 'guardrails'>;
  /** Whom guardrails may ask in its name. */
  readonly outside: Outside;
}

/** A call as the guardrails leave it. */
export interface Guarded extends Recalled {
  /** Where its name leads. */
  readonly named: Route;
}

/** The guardrails that hold for a call; undefined: none does. */
export function guarding(call: Call, named: Route, trip: GuardedTrip): Guarding | undefined {
  const { guardrails } = trip.snapshot;
  if (guardrails.length === 0 || textsOf[trip.row.operation] === undefined) return undefined;
  const userPath = trip.principal?.userPath ?? '/';
  const holding = guardrailsFor(guardrails, userPath, call.model, named);
  if (holding.length === 0) return undefined;
  return new Guarding(
    holding,
    { requestId: trip.exchange.id, userPath, model: call.model, outside: trip.outside },
    trip.row.operation,
  );
}

/** The call, the same or revised. Throws, or rejects with, 400 `guardrail_blocked` and `duplicate_key`. Nothing waits where no guardrail does. */
export function guard(guarded: Guarded, rails: Guarding | undefined): Guarded | Promise<Guarded> {
  return rails === undefined ? guarded : run(revised(guarded, rails));
}

/** What a request says stands under these: where one stood twice, a provider might obey the one that was not looked at. */
const spoken = new Set(
  'messages system instructions input prompt prediction suffix tools functions max_tokens max_completion_tokens max_output_tokens'.split(
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
  const { call } = guarded;
  yield* refuseTwins(call);
  const body = yield* rails.onRequest(call.body);
  if (body === call.body) return guarded;
  const read = yield* settled(body.length <= largeBytes ? readCall(body) : readLargeCall(body));
  return { ...guarded, call: { ...read, continues: call.continues } };
}

/** What is told of an answer. Throws, or rejects with, 400 `guardrail_blocked`, and 502 for one that cannot be checked. */
export function guardAnswer(
  delivery: Delivery,
  { guarding: rails, exchange }: GuardedTrip & { readonly guarding: Guarding | undefined },
  { reportFailure }: Pick<Gateway, 'reportFailure'>,
): Delivery | Promise<Delivery> {
  const { answer, taps } = delivery;
  if (rails?.readsAnswer !== true || exchange.gone) return delivery;
  if (!answer.stream) return run(checked(delivery, rails));
  const report = (error: unknown): void => reportFailure(error, exchange.id);
  return { ...delivery, taps: [...taps, new GuardTap({ guarding: rails, answer, report })] };
}

/** The answer with what it may say, and nothing left to be done with its bytes. */
function* checked(delivery: Delivery, rails: Guarding): Flow<Delivery> {
  const { answer, provider, taps } = delivery;
  if (!answer.complete) {
    answer.cancel();
    throw unreadable('it is too long to be checked', provider);
  }
  const passed = passWhole(taps, answer.body());
  const bytes = decodeBody(passed, answer.contentEncoding, checkedBytes);
  const body = editable(parseObject(bytes.toString('utf8')));
  if (body === undefined) throw unreadable('it is no JSON object, so it cannot be checked', provider);
  const isChanged = yield* rails.onAnswer(body);
  const told = isChanged ? Buffer.from(writeJson(body)) : bytes;
  return {
    ...delivery,
    answer: wholeAnswer(told, { status: answer.status, contentType: answer.contentType }),
    taps: [],
  };
}

function unreadable(reason: string, provider: string | undefined): Error {
  return refusal('upstream_invalid_response', { fill: { reason }, ...(provider === undefined ? {} : { provider }) });
}
