// POST /v1/messages/batches: every request in it names a model; all of them must be had at one provider, which gets its own names.
import { isUtf8 } from 'node:buffer';
import { expiryMs } from '../../../domain/rules/authorship.ts';
import type { TargetDrain } from '../../../domain/targets/target-drain.ts';
import { skipSpace } from '../../bytes/json-tokens.ts';
import { type Member, scanLargeObject } from '../../bytes/scan.ts';
import { ScanError } from '../../bytes/scan-error.ts';
import { skippingValue } from '../../bytes/skip-value.ts';
import { type Edit, splice } from '../../bytes/splice.ts';
import { type Call, largeBytes, readCall, readLargeCall } from '../../call/call.ts';
import { textOf } from '../../dialects/json/json.ts';
import { Refusal, refusal } from '../../errors.ts';
import { ownerOf } from '../../kept/owner.ts';
import { inSlices } from '../../pacing/slices.ts';
import { drainedRefusal } from '../../providers/drained-refusal.ts';
import { SecretsTap } from '../../providers/secrets-tap.ts';
import type { Route, Upstream } from '../../snapshot/snapshot.ts';
import { requirePrice } from '../../stages/priced.ts';
import { resolve } from '../../stages/resolve.ts';
import { membersOf, onlyMember } from '../batch-lines.ts';
import type { Aim, DoorParts, Knock, ModelsOfDoor } from '../door.ts';
import { doorFacts } from '../door-facts.ts';
import { type BatchGuard, batchGuard } from '../guarded-batch.ts';
import { MessageBatchTap } from '../usage/message-batch-tap.ts';
import { wholeBody } from '../whole-body.ts';
import { claimBody } from './claim-body.ts';
import { storeTarget } from './store-target.ts';

/** A request of a batch. Offsets count bytes of the body of the batch. */
interface NamedModel {
  readonly start: number;
  readonly end: number;
  readonly model: string;
  readonly route: Route;
  /** All of the call as guardrails leave it, where they have changed it; its range is that of the call then. Undefined: it is that of the model. */
  readonly revised: Pick<Call, 'body' | 'modelStart' | 'modelEnd'> | undefined;
}

/** A call in its place. */
interface PlacedCall {
  readonly from: number;
  readonly to: number;
  readonly call: Call;
  readonly route: Route;
}

/** Requests that are read without a pause for others. */
const stepRequests = 200;
const comma = 0x2c;
const listEnd = 0x5d;

/** Which models such a batch may name. */
export const modelsOfMessageBatches: ModelsOfDoor = {
  canAsk: ({ upstream: { stores } }) => stores.message_batches !== undefined,
  choice: 'first',
  refusedAs: 'batch_needs_one_provider',
};

/** Throws 400 `invalid_batch_input`, which names the request, `batch_needs_one_provider`, and 503 `target_drained`. */
export async function aimMessageBatch(knock: Knock, gateway: DoorParts): Promise<Aim> {
  const { exchange, principal } = knock;
  const sent = await wholeBody(knock, knock.body.limit);
  const named = await namedModels(sent, knock);
  const upstream = providerOf(named, gateway);
  const place = upstream?.stores.message_batches;
  if (upstream === undefined || place === undefined) throw refusal('batch_needs_one_provider', { param: 'requests' });
  for (const { model, route } of named) requirePrice(targetAt(route, upstream), model, knock);
  await claimBody(sent, knock, gateway, upstream.name);
  const body = splice(
    sent,
    named.map((each) => editAt(each, upstream)),
  );
  knock.held.grow(body.length);
  knock.capture?.takeGuarded(body);
  const key = upstream.credentials.pick(gateway.nowMs());
  const { rawHeaders } = exchange.request;
  const asked = { upstream, place, store: 'message_batches', key, suffix: '', rawHeaders } as const;
  const home = { provider: upstream.name, key: key.mark, isBatchInput: false };
  const tap = new MessageBatchTap((record) => {
    const id = textOf(record['id']);
    if (id === undefined) return;
    gateway.homes.remember('message_batch', id, ownerOf(principal), home);
    gateway.homes.begin('message_batch', id, ownerOf(principal), [...modelsAt(named, upstream)]);
  });
  return {
    targets: [storeTarget({ ...asked, contentType: 'application/json', body: () => body })],
    call: undefined,
    tap: () => ({ taps: [new SecretsTap(upstream.secrets, false), tap], usage: undefined }),
  };
}

/** Where the models stand in the body, and where they lead. */
async function namedModels(body: Buffer, knock: Knock): Promise<NamedModel[]> {
  const named: NamedModel[] = [];
  const routes = new Map<string, Route>();
  const guard = batchGuard(knock);
  for await (const { from, call } of requestsOf(body)) {
    const route = inRequest(named.length, () => routeOf(call, routes, knock));
    const placed = { from, to: from + call.body.length, call, route };
    const left = guard === undefined ? placed.call : await guardedCall(placed, guard, named.length);
    named.push(namedIn(placed, left));
  }
  return named;
}

/** The calls of a batch, and where each begins in its body. Throws 400 `invalid_json`, `invalid_parameter` and `invalid_batch_input`. */
export async function* requestsOf(body: Buffer): AsyncGenerator<ReadRequest> {
  if (!isUtf8(body)) throw refusal('invalid_json', { fill: { reason: 'it is not UTF-8' } });
  const requests = onlyMember(body, await topMembers(body), 'requests');
  if (requests === undefined || body[requests.valueStart] !== 0x5b) throw unusable('must be a list');
  let index = 0;
  let at = skipSpace(body, requests.valueStart + 1);
  while (body[at] !== listEnd) {
    const end = await endOf(body, at);
    const request = body.subarray(at, end);
    const { from, call } =
      request.length > largeBytes ? await longRequest(request, index) : shortRequest(request, index);
    yield { from: at + from, call };
    index += 1;
    at = skipSpace(body, end);
    if (body[at] === comma) at = skipSpace(body, at + 1);
    if (index % stepRequests === 0) await othersTurn();
  }
  if (index === 0) throw unusable('must not be empty');
}

async function topMembers(body: Buffer): Promise<Member[]> {
  try {
    return await scanLargeObject(body);
  } catch (error) {
    if (!(error instanceof ScanError)) throw error;
    throw refusal('invalid_json', { fill: { reason: `unexpected byte at offset ${error.at}` } });
  }
}

interface ReadRequest {
  /** Where its call begins. */
  readonly from: number;
  readonly call: Call;
}

function shortRequest(request: Buffer, index: number): ReadRequest {
  return inRequest(index, () => {
    const { from, bytes } = paramsOf(request, membersOf(request));
    return { from, call: readCall(bytes) };
  });
}

/** Reads a long request when other requests have had their turn. */
async function longRequest(request: Buffer, index: number): Promise<ReadRequest> {
  await othersTurn();
  const refuse = (error: unknown): never =>
    inRequest(index, () => {
      throw error;
    });
  const members = await topMembers(request).catch(refuse);
  const { from, bytes } = inRequest(index, () => paramsOf(request, members));
  return { from, call: await readLargeCall(bytes).catch(refuse) };
}

function paramsOf(request: Buffer, members: readonly Member[]): { from: number; bytes: Buffer } {
  const params = onlyMember(request, members, 'params');
  if (params === undefined) throw refusal('invalid_parameter', { fill: { param: 'params', because: 'is missing' } });
  return { from: params.valueStart, bytes: request.subarray(params.valueStart, params.valueEnd) };
}

/** Where the value that begins there ends; with pauses where it is long. */
function endOf(body: Buffer, from: number): number | Promise<number> {
  const work = skippingValue(body, from);
  const { done, value } = work.next();
  return done === true ? value : inSlices(work);
}

function othersTurn(): Promise<void> {
  return new Promise((resume) => setImmediate(resume));
}

/** The facts of a call that are needed: a batch has many calls. */
function namedIn({ from, to, call, route }: PlacedCall, left: Call): NamedModel {
  const { body, model, modelStart, modelEnd } = left;
  if (left === call) return { start: from + modelStart, end: from + modelEnd, model, route, revised: undefined };
  return { start: from, end: to, model, route, revised: { body, modelStart, modelEnd } };
}

/** The call as guardrails leave it. */
async function guardedCall({ call }: PlacedCall, guard: BatchGuard, index: number): Promise<Call> {
  try {
    return await guard('messages', call, `requests[${index}]`);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'guardrail_blocked') throw error;
    return inRequest(index, () => {
      throw error;
    });
  }
}

function routeOf(call: Call, known: Map<string, Route>, knock: Knock): Route {
  const { snapshot, principal } = knock;
  const name = `${call.model}\0${call.routingMember ?? ''}`;
  const facts = doorFacts(knock, '/v1/messages/batches');
  const route = known.get(name) ?? resolve(call, snapshot, principal.allowedModels, facts);
  known.set(name, route);
  return route;
}

/** As the provider calls them. */
function modelsAt(named: readonly NamedModel[], upstream: Upstream): ReadonlySet<string> {
  return new Set(named.flatMap(({ route }) => targetAt(route, upstream)?.model ?? []));
}

/** The first provider with such batches to which all models lead, and where none is taken out. Throws 503 `target_drained` where all are. */
function providerOf(named: readonly NamedModel[], gateway: Pick<DoorParts, 'targets' | 'nowMs'>): Upstream | undefined {
  const routes = [...new Set(named.map(({ route }) => route))];
  const able = (routes[0]?.targets ?? [])
    .filter(modelsOfMessageBatches.canAsk)
    .map(({ upstream }) => upstream)
    .filter((upstream) => routes.every((route) => targetAt(route, upstream)));
  const drainsAt = (upstream: Upstream): TargetDrain[] =>
    [...modelsAt(named, upstream)].flatMap((model) => gateway.targets.drainOf({ upstream, model }) ?? []);
  const open = able.find((upstream) => drainsAt(upstream).length === 0);
  if (open !== undefined || able.length === 0) return open;
  // Of each provider the drain that ends last is in the way.
  const lasting = able.flatMap((upstream) => drainsAt(upstream).toSorted((a, b) => expiryMs(b) - expiryMs(a))[0] ?? []);
  throw drainedRefusal(lasting, gateway.nowMs());
}

function targetAt({ targets }: Route, { name }: Upstream): Route['targets'][number] | undefined {
  return targets.find(({ upstream }) => upstream.name === name);
}

function editAt({ start, end, route, revised }: NamedModel, upstream: Upstream): Edit {
  const target = targetAt(route, upstream);
  if (target === undefined) throw new Error('a model is not at the provider of its batch');
  const { modelJson: bytes } = target;
  if (revised === undefined) return { start, end, bytes };
  const { body, modelStart, modelEnd } = revised;
  return { start, end, bytes: splice(body, [{ start: modelStart, end: modelEnd, bytes }]) };
}

/** A refusal of one request names it, counted from 0 as in the list. */
function inRequest<T>(index: number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Refusal) || error.status >= 500) throw error;
    const fill = { where: `requests[${index}]`, reason: error.message.replace(/\.$/, '') };
    throw refusal('invalid_batch_input', { param: `requests[${index}]`, fill });
  }
}

function unusable(because: string): Error {
  return refusal('invalid_parameter', { param: 'requests', fill: { param: 'requests', because } });
}
