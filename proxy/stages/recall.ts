// Between 1 and 2: a call that goes on from a stored response. One that the gateway keeps is put into the body; one that a provider keeps
// leads back to that provider, and to the API key that it belongs to.
import type { HeldBody } from '../body-budget.ts';
import { type Call, largeBytes, memberOf, readCall, readLargeCall, readString } from '../call/call.ts';
import { parseObject, writeJson } from '../dialects/json.ts';
import { type StoredResponse, withPrevious } from '../dialects/responses/stored-response.ts';
import { refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { ResponseHome } from '../kept-responses.ts';
import { type OwningCaller, ownerOf } from '../owner.ts';
import type { Route, Snapshot } from '../snapshot/snapshot.ts';
import { partOf } from './route-part.ts';

const param = 'previous_response_id';

/** Who asks, and what its body may take. */
export interface Recalling {
  readonly endpoint: { readonly keepsAnswers: boolean };
  readonly principal: OwningCaller | undefined;
  readonly snapshot: Pick<Snapshot, 'bodyLimitBytes'>;
  readonly held: HeldBody | undefined;
}

/** A call with all that it refers to. */
export interface Recalled {
  readonly call: Call;
  /** The only place where it can be asked, and the id of the response there; undefined: any. */
  readonly home: (ResponseHome & { readonly id: string }) | undefined;
}

/**
 * Throws, or rejects with, 404 `response_not_found` for a response that is none of the caller's user path, 503
 * `stored_responses_unavailable`, 413 when all that was said is longer than a body may be, and what reading a call throws. Nothing waits
 * where nothing is referred to.
 */
export function recall(
  call: Call,
  recalling: Recalling,
  { storedResponses }: Pick<Gateway, 'storedResponses'>,
): Recalled | Promise<Recalled> {
  const { endpoint, principal } = recalling;
  const member = endpoint.keepsAnswers ? memberOf(call, param) : undefined;
  if (member === undefined || call.body[member.valueStart] === 0x6e) return { call, home: undefined };
  const id = readString(call.body, member);
  if (id === undefined) throw refusal('invalid_parameter', { param, fill: { param, because: 'must be a text' } });
  return storedResponses.find(id, principal === undefined ? '/' : ownerOf(principal)).then((found) => {
    if (found === undefined) throw refusal('response_not_found', { param, fill: { id } });
    if (found.home !== undefined) return { call, home: { ...found.home, id } };
    return continued(call, id, found.record, recalling);
  });
}

/** The route with only the targets that know the response. Throws 400 `response_kept_elsewhere` when that is none. */
export function routeHome(route: Route, { model }: Pick<Call, 'model'>, home: Recalled['home']): Route {
  if (home === undefined) return route;
  const { id, provider } = home;
  const part = partOf(route, ({ upstream }) => upstream.name === provider);
  if (part === undefined) throw refusal('response_kept_elsewhere', { param, fill: { id, provider, model } });
  return part;
}

async function continued(
  { body }: Call,
  id: string,
  previous: StoredResponse,
  { snapshot, held }: Recalling,
): Promise<Recalled> {
  const whole = Buffer.from(writeJson(withPrevious(parseObject(body.toString('utf8')) ?? {}, previous)));
  const limit = snapshot.bodyLimitBytes;
  if (whole.length > limit) {
    const setting = ' (server.body_limit), with what was said before';
    throw refusal('body_too_large', { param, fill: { limit, setting } });
  }
  held?.grow(whole.length);
  const call = whole.length <= largeBytes ? readCall(whole) : await readLargeCall(whole);
  return { call: { ...call, continues: id }, home: undefined };
}
