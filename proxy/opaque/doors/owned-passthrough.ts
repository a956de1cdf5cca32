// The door /p/{provider}/{endpoint} for stored objects: a caller reaches what it has made, and what it makes is remembered as its own.

import { hash } from 'node:crypto';
import type { Tap } from '../../answer.ts';
import { parseObject, textOf } from '../../dialects/json/json.ts';
import { type Refusal, refusal } from '../../errors.ts';
import { isResponseId } from '../../kept/kept-responses.ts';
import { type ReferenceReader, referencesOfBody } from '../../kept/objects/body-references.ts';
import { type Claimant, type Claimed, claim } from '../../kept/objects/claim.ts';
import { type FamilyName, families } from '../../kept/objects/families.ts';
import { checkBody, type Gate, GatedBody } from '../../kept/objects/gated-body.ts';
import type { Reference } from '../../kept/objects/json-references.ts';
import type { MadeObject } from '../../kept/objects/made-objects.ts';
import { objectTap } from '../../kept/objects/object-tap.ts';
import { referencesOfQuery } from '../../kept/objects/pair-reader.ts';
import { type PathObject, pathObject } from '../../kept/objects/path-objects.ts';
import { ownerOf, seesAll } from '../../kept/owner.ts';
import type { ApiKey } from '../../upstream/api-keys.ts';
import type { OpaqueBody } from '../../upstream/send-opaque.ts';
import type { UpstreamAnswer } from '../../upstream/upstream-answer.ts';
import type { Aim, DoorParts, Knock, OpaqueTarget, Tapped } from '../door.ts';
import { refuseDrainedBatch } from './drained-batch.ts';
import { aimPassthrough } from './passthrough.ts';
import { type ProviderPath, readProviderPath } from './provider-path.ts';

/** Where the gateway lists what is the caller's. */
const ownLists: Partial<Record<FamilyName, string>> = {
  file: '/v1/files',
  batch: '/v1/batches',
  message_batch: '/v1/messages/batches',
};

/**
 * Where a request goes, as `aimPassthrough` says, if it asks for nothing that is not its caller's. Throws, or rejects with, what that does, and
 * 404 `kept_not_found`, 403 `objects_of_others`, 503 `kept_ids_unavailable`, and what a body is refused for that cannot be looked at.
 */
export function aimOwned(knock: Knock, parts: DoorParts): Aim | Promise<Aim> {
  const aimed = aimPassthrough(knock, parts);
  const path = readProviderPath(knock.exchange.request.url ?? '');
  const about = pathObject(knock.method, path.endpoint);
  if (seesAll(knock.principal) && about.kind === 'none') return aimed;
  return owned({ knock, parts, path, about }, aimed);
}

interface OwnedRequest {
  readonly knock: Knock;
  readonly parts: DoorParts;
  readonly path: ProviderPath;
  readonly about: PathObject;
}

async function owned(asked: OwnedRequest, aimed: Aim | Promise<Aim>): Promise<Aim> {
  const aim = await aimed;
  const [target] = aim.targets;
  if (target === undefined) throw new Error('a request behind /p/ goes nowhere');
  const { knock, about } = asked;
  const checked = seesAll(knock.principal) ? target : withOwnRepeats(asked, await checkedTarget(asked, target));
  const bound = { ...boundTarget(asked, checked), isKeeper: isAboutKept(knock.method, about) };
  if (about.kind === 'create') await refuseDrainedBatch({ knock, family: about.family, target: bound }, asked.parts);
  const makes = makesOf(asked, about, target);
  if (makes === undefined && !(about.kind === 'one' && knock.method === 'DELETE')) return { ...aim, targets: [bound] };
  const tap = (answer: UpstreamAnswer, reached: OpaqueTarget): Tapped => {
    const { taps, usage } = aim.tap(answer, reached);
    return { taps: [...taps, ...tapsOf(asked, makes, reached, answer)], usage };
  };
  return { ...aim, targets: [bound], tap };
}

/** The target, with a body that is its caller's to send and with the key that its objects belong to. */
async function checkedTarget({ knock, parts, path, about }: OwnedRequest, target: OpaqueTarget): Promise<OpaqueTarget> {
  const { principal, snapshot, exchange, body } = knock;
  const { upstream } = target;
  if (about.kind === 'operator') throw others('what is of the whole account');
  if (about.kind === 'list') throw others(`a list of every ${families[about.family].what}`, ownLists[about.family]);
  const claimant: Claimant = { principal, snapshot, provider: upstream.name };
  const named: Reference[] = about.kind === 'one' ? [{ family: about.family, id: about.id }] : [];
  const claimed = [...(await claim([...named, ...referencesOfQuery(path.query)], claimant, parts))];
  const { contentType, contentEncoding: encoding } = exchange.head;
  const isFile = about.kind === 'create' && about.family === 'file';
  const reader = referencesOfBody(contentType, isFile);
  const isEval = about.kind !== 'none' && about.family === 'eval';
  const check = async (references: readonly Reference[]): Promise<void> => {
    claimed.push(...(await claim(references, claimant, parts)));
  };
  const gate: Gate = { reader: isEval ? evalReader(reader) : reader, encoding, mostBytes: body.limit.bytes, check };
  const sent = target.body();
  if (about.kind === 'create' && about.family === 'upload') refuseBatchUpload(sent, encoding);
  if (Buffer.isBuffer(sent)) {
    await checkBody(sent, gate);
    return { ...target, key: target.key ?? keyOf(claimed, target) };
  }
  const gated = new GatedBody(sent.stream, gate, (refused) => body.fail(refused));
  const passed = { ...sent, stream: gated };
  return { ...target, key: target.key ?? keyOf(claimed, target), body: () => passed };
}

/** Whether one object is read, deleted or cancelled: nothing new begins. */
function isAboutKept(method: string, about: PathObject): boolean {
  return about.kind === 'one' && (method !== 'POST' || about.action === 'cancel');
}

/** A provider that has answered a key of repetition gives the same answer again: to the same owner alone. */
function withOwnRepeats({ knock: { principal } }: OwnedRequest, target: OpaqueTarget): OpaqueTarget {
  const headers = target.headers.map((value, index, all) => {
    const isKey = index % 2 === 1 && all[index - 1]?.toLowerCase() === 'idempotency-key';
    return isKey ? hash('sha256', `${ownerOf(principal)}\n${value}`) : value;
  });
  return { ...target, headers };
}

/** The lines of a batch can be looked at only where they come at once. */
function refuseBatchUpload(sent: OpaqueBody, encoding: string | undefined): void {
  const purpose =
    Buffer.isBuffer(sent) && encoding === undefined ? textOf(parseObject(sent.toString())?.['purpose']) : undefined;
  if (purpose !== undefined && !/batch/i.test(purpose)) return;
  const because = 'must be said, and not be "batch": send the file of a batch at once, to files';
  throw refusal('invalid_parameter', { param: 'purpose', fill: { param: 'purpose', because } });
}

/** An evaluation may read what all callers have stored. */
function evalReader(reader: ReferenceReader): ReferenceReader {
  return {
    push: (piece) => reader.push(piece),
    end: () => reader.end(),
    take() {
      const found = reader.take();
      if (reader.asksForAll) throw others('an evaluation of stored completions or responses');
      return found;
    },
    get asksForAll() {
      return reader.asksForAll;
    },
  };
}

/** Of several keys, each may be of another account: what is made is asked for with the key that made it. */
function boundTarget({ knock, parts, about }: OwnedRequest, target: OpaqueTarget): OpaqueTarget {
  const { credentials } = target.upstream;
  if (target.key !== undefined || credentials.all.length < 2 || about.kind !== 'create' || knock.method !== 'POST')
    return target;
  return { ...target, key: credentials.pick(parts.nowMs()) };
}

function keyOf(claimed: readonly Claimed[], { upstream: { credentials } }: OpaqueTarget): ApiKey | undefined {
  return claimed.flatMap(({ key }) => credentials.marked(key) ?? [])[0];
}

/** The family that an answer is of; `isOld`: it makes none of them. Undefined: it tells of no object. */
function makesOf(
  { knock: { method, short }, path }: OwnedRequest,
  about: PathObject,
  { upstream }: OpaqueTarget,
): { family: FamilyName; isOld: boolean } | undefined {
  if (about.kind === 'create') {
    const { isModelCall } = families[about.family];
    const isStored = short === undefined || short.includes('"store"') || short.includes('"deferred"');
    return isModelCall && !isStored ? undefined : { family: about.family, isOld: false };
  }
  const isMessage = about.kind === 'none' && method === 'POST' && upstream.type === 'anthropic';
  if (isMessage && /(?:^|\/)messages$/i.test(path.read)) {
    const isThread = short === undefined || short.includes('"thread"');
    return { family: isThread ? 'thread_message' : 'message', isOld: true };
  }
  if (about.kind !== 'one' || method === 'DELETE') return undefined;
  const { spawns = [], holds } = families[about.family];
  if (method === 'POST' && spawns.includes(about.action)) return { family: about.family, isOld: false };
  return holds === undefined ? undefined : { family: about.family, isOld: true };
}

function tapsOf(
  { knock: { principal }, parts, about }: OwnedRequest,
  makes: { family: FamilyName; isOld: boolean } | undefined,
  { upstream, key }: OpaqueTarget,
  answer: UpstreamAnswer,
): readonly Tap[] {
  if (answer.status >= 300) return [];
  const owner = ownerOf(principal);
  if (makes === undefined) {
    if (about.kind === 'one' && about.action === '') forget(about, owner, parts);
    return [];
  }
  const home = { provider: upstream.name, key: key?.mark ?? '', isBatchInput: false };
  const made = (objects: readonly MadeObject[]): void => {
    for (const { family, id } of objects) {
      parts.homes.remember(family, id, owner, home);
      if (family === 'response' && isResponseId(id)) parts.storedResponses.remember(id, owner, home);
    }
  };
  const called = answer.head.location?.split('?', 1)[0]?.split('/').at(-1);
  if (makes.family === 'call') {
    if (called !== undefined && called !== '') made([{ family: 'call', id: called }]);
    return [];
  }
  return [objectTap(answer, { ...makes, made })];
}

function forget({ family, id }: MadeObject, owner: string, gateway: DoorParts): void {
  const { homes, storedResponses } = gateway;
  const failed = (error: unknown): void => gateway.reportFailure(error, id);
  homes.forget(family, id, owner).catch(failed);
  if (family === 'response') storedResponses.forget(id, owner).catch(failed);
}

function others(what: string, list?: string): Refusal {
  const instead = list === undefined ? '' : `; GET ${list} lists yours`;
  return refusal('objects_of_others', { fill: { what, instead } });
}
