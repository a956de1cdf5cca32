// Between 1 and 2: what a call refers to that is stored. A response that the gateway keeps is put into the body; what a provider keeps leads
// back to that provider, and to the API key that it belongs to. What is not the caller's is not there.

import { type Call, memberOf, readAnyCall, readString } from '../call/call.ts';
import { itemsBefore, type StoredResponse, withPrevious } from '../dialects/responses/stored-response.ts';
import { refusal } from '../errors.ts';
import type { HeldBody } from '../http/body-budget.ts';
import { parsedBody, writtenBody } from '../http/parsed-body.ts';
import type { ResponseHome } from '../kept/kept-responses.ts';
import { referencesOfBody } from '../kept/objects/body-references.ts';
import { type Claimed, type ClaimParts, claim } from '../kept/objects/claim.ts';
import { checkBody } from '../kept/objects/gated-body.ts';
import { mayRefer } from '../kept/objects/may-refer.ts';
import { type OwningCaller, ownerOf, seesAll } from '../kept/owner.ts';
import { inSlices, type Slices } from '../pacing/slices.ts';
import type { Route, Snapshot } from '../snapshot/snapshot.ts';
import { mayNameItems, withItems } from './recall-items.ts';
import { partOf } from './route-part.ts';

const param = 'previous_response_id';

/** Who asks, and what its body may take. */
export interface Recalling {
  readonly endpoint: { readonly goesOn: boolean };
  readonly principal: OwningCaller | undefined;
  readonly snapshot: Pick<Snapshot, 'allowsUnknownObjects' | 'bodyLimitBytes'>;
  readonly held: HeldBody | undefined;
}

/** A call with all that it refers to. */
export interface Recalled {
  readonly call: Call;
  /** The only place where it can be asked, and the id of what is there; undefined: any. */
  readonly home: Home | undefined;
}

interface Home extends ResponseHome {
  readonly id: string;
  /** It is a response that is gone on from. */
  readonly isPrevious: boolean;
}

/**
 * Throws, or rejects with, 404 `response_not_found` for a response that is not the caller's, 404 `kept_not_found` for other objects, 400
 * `object_kept_elsewhere` where they are at several providers, 503 `stored_responses_unavailable` and `kept_ids_unavailable`, 413 when all that
 * was said is longer than a body may be, and what reading a call throws. Nothing waits where nothing is referred to.
 */
export function recall(call: Call, recalling: Recalling, parts: ClaimParts): Recalled | Promise<Recalled> {
  const { endpoint, principal, snapshot, held } = recalling;
  if (!endpoint.goesOn || !mayNameItems(call)) return recallWhole(call, recalling, parts);
  const naming = { owner: principal === undefined ? '/' : ownerOf(principal), limit: snapshot.bodyLimitBytes };
  return withItems(call, naming, parts.storedResponses).then((whole) => {
    held?.grow(whole.body.length);
    return recallWhole(whole, recalling, parts);
  });
}

/** `call`: with the items that it names, as far as they are kept here. */
function recallWhole(call: Call, recalling: Recalling, parts: ClaimParts): Recalled | Promise<Recalled> {
  const { principal } = recalling;
  const isTheirs = principal !== undefined && !seesAll(principal) && mayRefer(call.body);
  if (!isTheirs) return previousOf(call, recalling, parts);
  return claimedBy(call, { ...recalling, principal }, parts).then(async (claimed) => {
    const recalled = await previousOf(call, recalling, parts);
    return { ...recalled, home: homeOfAll(recalled.home, claimed, call) };
  });
}

/** Where what the body names is kept; a response that it goes on from is looked for by itself. */
async function claimedBy(
  call: Call,
  { endpoint, principal, snapshot }: Recalling & { readonly principal: OwningCaller },
  parts: ClaimParts,
): Promise<readonly Claimed[]> {
  const member = endpoint.goesOn ? memberOf(call, param) : undefined;
  const previous = member === undefined ? undefined : readString(call.body, member);
  const claimed: Claimed[] = [];
  await checkBody(call.body, {
    reader: referencesOfBody(undefined),
    encoding: undefined,
    mostBytes: Number.POSITIVE_INFINITY,
    async check(references) {
      const others = references.filter(({ family, id }) => family !== 'response' || id !== previous);
      claimed.push(...(await claim(others, { principal, snapshot, provider: undefined }, parts)));
    },
  });
  return claimed.filter(({ provider }) => provider !== '');
}

/** The one place that has all of them. */
function homeOfAll(previous: Home | undefined, claimed: readonly Claimed[], { model }: Call): Home | undefined {
  const [first] = claimed;
  const home = previous ?? (first && { ...first, isPrevious: false });
  const elsewhere = claimed.find(({ provider }) => provider !== home?.provider);
  if (elsewhere === undefined) return home;
  const { id, provider } = elsewhere;
  throw refusal('object_kept_elsewhere', { fill: { id, provider, model } });
}

function previousOf(
  call: Call,
  recalling: Recalling,
  { storedResponses }: Pick<ClaimParts, 'storedResponses'>,
): Recalled | Promise<Recalled> {
  const { endpoint, principal } = recalling;
  const member = endpoint.goesOn ? memberOf(call, param) : undefined;
  if (member === undefined || call.body[member.valueStart] === 0x6e) return { call, home: undefined };
  const id = readString(call.body, member);
  if (id === undefined) throw refusal('invalid_parameter', { param, fill: { param, because: 'must be a text' } });
  return storedResponses.find(id, principal === undefined ? '/' : ownerOf(principal)).then((found) => {
    if (found === undefined) throw refusal('response_not_found', { param, fill: { id } });
    if (found.home !== undefined) return { call, home: { ...found.home, id, isPrevious: true } };
    return continued(call, id, found.record, recalling);
  });
}

/** The route with only the targets that know what is referred to. Throws 400 `response_kept_elsewhere` or `object_kept_elsewhere` when that is none. */
export function routeHome(route: Route, { model }: Pick<Call, 'model'>, home: Recalled['home']): Route {
  if (home === undefined) return route;
  const { id, provider, isPrevious } = home;
  const part = partOf(route, ({ upstream }) => upstream.name === provider);
  if (part !== undefined) return part;
  const fill = { id, provider, model };
  throw isPrevious ? refusal('response_kept_elsewhere', { param, fill }) : refusal('object_kept_elsewhere', { fill });
}

async function continued(
  { body }: Call,
  id: string,
  previous: StoredResponse,
  { snapshot, held }: Recalling,
): Promise<Recalled> {
  const whole = await inSlices(joined(body, previous));
  const limit = snapshot.bodyLimitBytes;
  if (whole.length > limit) {
    const setting = ' (server.body_limit), with what was said before';
    throw refusal('body_too_large', { param, fill: { limit, setting } });
  }
  held?.grow(whole.length);
  const call = await readAnyCall(whole);
  return { call: { ...call, continues: { id, itemsBefore: itemsBefore(previous).length } }, home: undefined };
}

/** The body with all that was said before. Throws 400 `body_too_many_keys`. */
function* joined(body: Buffer, previous: StoredResponse): Slices<Buffer> {
  return yield* writtenBody(withPrevious(yield* parsedBody(body), previous), true);
}
