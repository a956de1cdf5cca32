// A question of the gateway itself to a model, and the client's request that it serves.

import { foldUserPath } from '../../../domain/user-path.ts';
import type { Call } from '../../call/call.ts';
import type { JsonObject } from '../../dialects/json/json.ts';
import type { ModelRequest } from '../../http/exchange.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import { knownSecrets, type SecretHolder } from '../../records/known-secrets.ts';
import type { Records } from '../../records/records.ts';
import { sessionIdOf } from '../../records/session-id.ts';
import type { Telemetry } from '../../records/spans/telemetry.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import type { AttemptParts } from '../../stages/attempt.ts';
import type { Principal } from '../../stages/authenticate.ts';
import type { AuxiliaryPurpose } from '../../tallies/auxiliary-tally.ts';
import type { PipelineParts } from '../pipeline.ts';

export interface Question {
  readonly purpose: AuxiliaryPurpose;
  /** Of the guardrail, or of the layer of the cache; without a slash. */
  readonly name: string;
  readonly operation: 'chat' | 'embeddings';
  /** In the dialect of OpenAI, with its `model`; `stream` is of no effect. */
  readonly body: JsonObject;
  readonly timeoutMs: number;
  /** Fires when the answer is no longer needed; absent: it is needed. */
  readonly signal?: AbortSignal | undefined;
}

/** The request of a client, as far as it has come. */
export interface ServedRequest {
  readonly exchange: ModelRequest & SecretHolder['exchange'];
  readonly principal: Principal;
  readonly snapshot: Snapshot;
  readonly call: Call | undefined;
}

/** The parts that a call needs. */
export type AuxiliaryParts = AttemptParts &
  PipelineParts & { readonly metrics: Metrics; readonly records: Records; readonly telemetry?: Telemetry | undefined };

/** The caller, with a user path one level below its own. */
export function callerOf(
  { purpose, name }: Pick<Question, 'purpose' | 'name'>,
  { principal }: Pick<ServedRequest, 'principal'>,
): Principal {
  const below = (path: string): string => `${path === '/' ? '' : path}/${purpose}/${name}`;
  const shownPath = below(principal.shownPath);
  return { ...principal, userPath: foldUserPath(shownPath), shownPath };
}

/** The session of the request that is served. */
export function sessionOf({ exchange, principal, call }: ServedRequest): string | undefined {
  return sessionIdOf(exchange.request.rawHeaders, call, principal.userPath, knownSecrets({ exchange }));
}

/** A request in the name of the one that it serves: its id, its client, and a span below its own. Headers of the client go nowhere. */
export function requestFor(
  { exchange }: ServedRequest,
  { nowMs, telemetry }: { readonly nowMs: () => number; readonly telemetry?: Telemetry | undefined },
): ModelRequest {
  const { id, clientAddress, caller } = exchange;
  const rawHeaders: string[] = [];
  telemetry?.continueIn(rawHeaders, exchange);
  return {
    request: { rawHeaders },
    id,
    startedAtMs: nowMs(),
    gone: false,
    waiting: undefined,
    caller,
    trace: undefined,
    clientAddress,
  };
}
