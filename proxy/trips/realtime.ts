// The common part of trips of the realtime API: sessions over WebSocket, and the signalling of sessions that are held elsewhere.
import type { KeyUses } from '../../plane/access/key-uses.ts';
import { isRoutingMember } from '../call/call.ts';
import { RequestFacts } from '../call/request-facts.ts';
import { refusal } from '../errors.ts';
import { isGuarded } from '../guardrails/applying.ts';
import type { Exchange } from '../http/exchange.ts';
import { followed } from '../pacing/slices.ts';
import type { AskedInVain, Granted } from '../realtime/ask-targets.ts';
import { closedToGuarded } from '../realtime/closed-to-guarded.ts';
import { hasRealtime } from '../realtime/doors.ts';
import type { Snapshot, Target } from '../snapshot/snapshot.ts';
import { type AuthenticateParts, authenticate } from '../stages/authenticate.ts';
import { clientPart } from '../stages/client-part.ts';
import { pricedPart } from '../stages/priced.ts';
import { asksForAlias, resolve } from '../stages/resolve.ts';
import { partOf } from '../stages/route-part.ts';
import type { AskedModel } from './kind.ts';
import { Trip } from './trip.ts';

export abstract class RealtimeTrip<Value> extends Trip<Exchange, Granted<Value>, AskedInVain> {
  readonly path: string;
  /** Method and path, as the access log names them. */
  readonly asked: { readonly method: string; readonly path: string };
  /** Stage 3: the model, and the members of the query besides it. */
  call: { readonly model: string; readonly stream: boolean } | undefined;
  query = new URLSearchParams();

  constructor(path: string, method: string, exchange: Exchange, snapshot: Snapshot) {
    super(exchange, snapshot);
    this.path = path;
    this.asked = { method, path };
  }

  get isAlias(): boolean | undefined {
    return asksForAlias(this.call, this.snapshot, this.principal?.userPath);
  }

  get remembered(): Target | undefined {
    return undefined;
  }
}

/** Who calls; the key counts as used from here on. */
export function identifyCaller(
  trip: RealtimeTrip<unknown>,
  parts: AuthenticateParts & { readonly keyUses: KeyUses },
): void | Promise<void> {
  const { exchange, snapshot } = trip;
  return followed(authenticate(exchange, snapshot.credentials, parts), (principal) => {
    trip.principal = principal;
    exchange.caller = principal;
    parts.keyUses.note(principal.keyId, exchange.startedAtMs);
  });
}

/** The model that a session asks for, and the first parameter of its query that may route elsewhere. */
export function askedOf(model: string, query: URLSearchParams): AskedModel {
  return { model, routingMember: [...query.keys()].find((name) => name !== 'model' && isRoutingMember(name)) };
}

/**
 * Finds the targets that can be asked. Throws what `resolve` does, the refusal of callers under guardrails, 400 `unsupported_operation` where
 * no target has realtime, and what `pricedPart` does.
 */
export function findRealtimeRoute(trip: RealtimeTrip<unknown>): void {
  const { call, caller, exchange, path, query, snapshot } = trip;
  if (call === undefined) throw new Error('a request was resolved before its model was known');
  const { model } = call;
  const facts = new RequestFacts({
    caller,
    endpoint: path,
    stream: true,
    rawHeaders: exchange.request.rawHeaders,
    said: undefined,
    localTime: snapshot.localTime,
    startedAtMs: exchange.startedAtMs,
  });
  const named = resolve(askedOf(model, query), snapshot, caller.allowedModels, facts);
  if (isGuarded(snapshot.guardrails, { userPath: caller.userPath, model, named })) throw closedToGuarded();
  const able = partOf(named, hasRealtime);
  if (able === undefined)
    throw refusal('unsupported_operation', { param: 'model', fill: { what: 'model', name: model, path } });
  trip.route = clientPart(pricedPart(able, model, trip), trip);
}
