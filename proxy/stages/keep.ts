// Stage 8, for responses that a client may ask for later: a tap keeps them, or remembers which provider does.

import { randomId } from '../../domain/random-id.ts';
import type { Answer, Tap } from '../answer.ts';
import { type Call, memberOf } from '../call/call.ts';
import { type JsonObject, textOf, writeJson } from '../dialects/json/json.ts';
import { storedResponse } from '../dialects/responses/stored-response.ts';
import { parsedObject } from '../http/parsed-body.ts';
import { isResponseId, isUnderWay, type ResponseHome } from '../kept/kept-responses.ts';
import type { KeptHomes } from '../kept/objects/kept-homes.ts';
import type { MadeObject } from '../kept/objects/made-objects.ts';
import { objectTap } from '../kept/objects/object-tap.ts';
import { type OwningCaller, ownerOf } from '../kept/owner.ts';
import { PreviousIdTap } from '../kept/responses/previous-id-tap.ts';
import { responseTap } from '../kept/responses/response-tap.ts';
import type { StoredResponses } from '../kept/responses/stored-responses.ts';
import { type Keepable, mostFurther, mostKeptBytes } from '../kept/responses/stored-responses.ts';
import { atOnce, inSlices, type Slices, shortBytes } from '../pacing/slices.ts';
import type { TargetSpeech } from '../providers/target-speeches.ts';
import type { Snapshot, Upstream } from '../snapshot/snapshot.ts';
import type { Accepted } from './attempts.ts';
import type { Delivery } from './relay.ts';

interface KeepParts {
  /** Which providers keep the files and batches of callers. */
  readonly homes: KeptHomes;
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
  /** Those that the gateway keeps, and where providers keep others. */
  readonly storedResponses: StoredResponses;
}

/** Member of a call with such tools, of one that goes on with their results, and of one that is to be continued. */
const threadWord = Buffer.from('"thread"');
const keepWords = [threadWord, ...['code_execution', '"container"'].map((word) => Buffer.from(word))];

/** Whose response it is, and what is meant to be done with it. */
export interface Keeping {
  /** Undefined: no provider has answered. */
  readonly accepted: Accepted | undefined;
  /** As the client sent it; what guardrails changed in it for the provider is not kept. */
  readonly call: Call | undefined;
  readonly endpoint: { readonly keepsAnswers: boolean };
  readonly principal: OwningCaller | undefined;
  readonly snapshot: Pick<Snapshot, 'allowsUnknownObjects' | 'storedResponses'>;
  readonly exchange: { readonly id: string };
}

/** Whether a provider that is asked so keeps its answers itself. */
export function keepsItself({ translation, quirks }: Pick<TargetSpeech, 'translation' | 'quirks'>): boolean {
  return translation === undefined && quirks.without?.includes('store') !== true;
}

/** The delivery with taps nearest to the client: one that names the response it goes on from, and one where it is to be had later. */
export function keep(delivery: Delivery, keeping: Keeping, parts: KeepParts): Delivery {
  const { accepted, call, endpoint, snapshot } = keeping;
  if (accepted === undefined || call === undefined) return delivery;
  const { homes } = parts;
  const { exchange, principal } = keeping;
  if (!endpoint.keepsAnswers) {
    const keeper = keeperOfFiles(call, accepted);
    return keeper === undefined
      ? delivery
      : withTap(delivery, ownedTap(delivery.answer, messageFamily(call), keeper, { principal, snapshot, homes }));
  }
  const named = withPreviousId(delivery, accepted, call);
  if (isUnwanted(call)) return named;
  const begun = isInBackground(call) ? accepted.maker : undefined;
  if ((accepted.home ?? begun) === undefined && !snapshot.storedResponses.isEnabled) return named;
  const kept = { exchange, principal, snapshot, call, begun };
  const later = withTap(named, tapOf(delivery.answer, accepted, kept, parts));
  if (accepted.home === undefined) return later;
  return withTap(later, ownedTap(delivery.answer, 'response', accepted.home, { principal, snapshot, homes }));
}

/** Where the provider was not told what the answer goes on from; a translated answer says it already. */
function withPreviousId(delivery: Delivery, { reading }: Accepted, { continues }: Call): Delivery {
  if (continues === undefined || reading !== undefined) return delivery;
  return withTap(delivery, new PreviousIdTap(delivery.answer, continues.id));
}

/** Tools of Anthropic keep containers and files, and threads what was said, which a later call may name. Undefined: nothing is kept. */
function keeperOfFiles({ body }: Call, { maker, target }: Accepted): ResponseHome | undefined {
  return target.upstream.type === 'anthropic' && keepWords.some((word) => body.includes(word)) ? maker : undefined;
}

/** Only the answers of threads are named later. */
function messageFamily({ body }: Call): 'message' | 'thread_message' {
  return body.includes(threadWord) ? 'thread_message' : 'message';
}

function withTap(delivery: Delivery, tap: Tap): Delivery {
  return { ...delivery, taps: [...delivery.taps, tap] };
}

/** Objects that the answer names belong to its caller. */
function ownedTap(
  answer: Answer,
  family: 'response' | 'message' | 'thread_message',
  home: ResponseHome,
  { principal, snapshot, homes }: Pick<Keeping, 'principal' | 'snapshot'> & Pick<KeepParts, 'homes'>,
): Tap {
  const owner = principal === undefined ? '/' : ownerOf(principal);
  const made = (objects: readonly MadeObject[]): void => {
    for (const { family: of, id } of objects) {
      // Its home is remembered as that of a response; whose it is matters to others only where what is unknown passes.
      if (of === 'response' && isResponseId(id) && !snapshot.allowsUnknownObjects) continue;
      homes.remember(of, id, owner, { ...home, isBatchInput: false });
    }
  };
  return objectTap(answer, { family, isOld: family !== 'response', made });
}

/** The response that a request continues, where all that was said before has been put into the request. */
function previous(id: string | undefined): JsonObject {
  return id === undefined ? {} : { previous_response_id: id };
}

/** The client says `store: false`. */
export function isUnwanted(call: Call): boolean {
  const member = memberOf(call, 'store');
  return member !== undefined && call.body[member.valueStart] === 0x66;
}

/** The client says `background: true`. */
function isInBackground(call: Call): boolean {
  const member = memberOf(call, 'background');
  return member !== undefined && call.body[member.valueStart] === 0x74;
}

interface Kept extends Pick<Keeping, 'principal' | 'exchange' | 'snapshot'> {
  readonly call: Call;
  /** The provider that was asked to make it in the background; undefined: it was not asked to. */
  readonly begun?: ResponseHome | undefined;
}

function tapOf(answer: Answer, { home: keeper, reading, routed, target }: Accepted, kept: Kept, parts: KeepParts): Tap {
  const { storedResponses, reportFailure } = parts;
  const { principal, exchange, call, begun } = kept;
  // A stream in the background is known by its first event; the provider that has begun one keeps it.
  const home = keeper ?? (answer.stream ? begun : undefined);
  const { body } = call;
  const owner = principal === undefined ? '/' : ownerOf(principal);
  const take = (response: JsonObject, bytes: number): void | Promise<void> => {
    const id = textOf(response['id']) ?? '';
    if (home !== undefined) {
      // Each stream begins so, too.
      const isBegun = !answer.stream && isUnderWay(response);
      storedResponses.remember(id, owner, home, isBegun ? target.model : undefined);
      return;
    }
    if (begun !== undefined && isUnderWay(response)) {
      storedResponses.remember(id, owner, begun, target.model);
      return;
    }
    if (holdsLogin(target.upstream, body, response)) return;
    const { status = 'completed' } = response;
    if (status !== 'completed' && status !== 'incomplete') return;
    const spoken = routed.call === call ? reading?.translated.spoken.body : undefined;
    const work = recordOf(spoken, call, response);
    const put = (record: Keepable | undefined): void => {
      if (record !== undefined) storedResponses.keep(id, owner, record, body.length + bytes);
    };
    if (body.length <= shortBytes) return put(atOnce(work));
    return storedResponses.reading(owner, body.length, async () => put(await inSlices(work)));
  };
  const failed = (error: unknown): void => reportFailure(error, exchange.id);
  return responseTap(answer, {
    needsOnlyId: home !== undefined,
    mostBytes: mostKeptBytes,
    take(...taken) {
      try {
        return take(...taken)?.catch(failed);
      } catch (error) {
        return failed(error);
      }
    },
    readLong: (bytes, read) => void storedResponses.reading(owner, bytes, read),
    lost: () => storedResponses.lost(),
  });
}

/** Whether what would be kept repeats the credential of the client, with which its provider was asked. */
function holdsLogin({ clientAuth, secrets }: Upstream, body: Buffer, response: JsonObject): boolean {
  if (clientAuth !== 'given') return false;
  const text = writeJson(response);
  return secrets.some((secret) => body.includes(secret) || text.includes(secret));
}

/** `spoken`: what a translated call was read as. */
function* recordOf(
  spoken: JsonObject | undefined,
  { body, continues }: Call,
  response: JsonObject,
): Slices<Keepable | undefined> {
  const asked = spoken ?? { ...(yield* parsedObject(body)), ...previous(continues?.id) };
  const record = yield* storedResponse(asked, response, randomId);
  const further = record?.input_items.slice(continues?.itemsBefore ?? 0).filter(isOfClient);
  return record && { ...record, further: further?.slice(-mostFurther) ?? [] };
}

/** Keeps the words of the model with its own response. */
function isOfClient({ type, role }: JsonObject): boolean {
  return type === 'message' ? role !== 'assistant' : (textOf(type) ?? '').endsWith('_output');
}
