// POST /admin/guardrails/test: the proxy answers it itself, because it alone has the guardrails compiled.

import { onlyPath } from '../../domain/conditions/facts.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { FailedLogins } from '../../plane/access/failed-logins.ts';
import type { KeyUses } from '../../plane/access/key-uses.ts';
import type { TokenKeys } from '../../plane/identities/token-keys.ts';
import type { StateFollower } from '../../store/state/state-follower.ts';
import { admitOperator } from '../admin/admit-operator.ts';
import type { ControlPlaneLink } from '../admin/control-plane-link.ts';
import { pathOf } from '../call/head.ts';
import type { JsonObject } from '../dialects/json/json.ts';
import { guardrailsFor } from '../guardrails/applying.ts';
import { fixedHeaders } from '../http/answer-headers.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import type { Exchange } from '../http/exchange.ts';
import { noRoute } from '../http/known-routes.ts';
import { writtenBody } from '../http/parsed-body.ts';
import { type BodyLimit, expectLength, readBody } from '../http/read-body.ts';
import { inSlices } from '../pacing/slices.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { visibleRoute } from '../stages/resolve.ts';
import { readTrial, wordsOf } from './read-trial.ts';
import { tryGuardrails } from './try-guardrails.ts';

export const trialPath = '/admin/guardrails/test';

/** As of any body under /admin. */
const limit: BodyLimit = { bytes: 1024 * 1024, setting: '' };

export interface TrialParts {
  /** The time by which keys and sessions end: see `authorityClock`. Unix milliseconds. */
  readonly authorityMs: () => number;
  /** The memory for bodies of open requests. */
  readonly bodies: BodyBudget;
  readonly controlPlane: ControlPlaneLink;
  /** The snapshot in force; a request asks once. */
  readonly current: () => Snapshot;
  readonly failedLogins: FailedLogins;
  readonly tokenKeys: TokenKeys;
  /** The name of this proxy. */
  readonly instance: string;
  readonly keyUses: KeyUses;
  /** The managed state that this proxy follows; requests are served only while there is one. */
  readonly managedState: () => Pick<StateFollower, 'status' | 'refresh'>;
  /** Monotonic milliseconds, anchored to wall time at start. */
  readonly nowMs: () => number;
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
}

/**
 * Serves one request. Throws what `admitOperator` throws, 405, 413, and what `readTrial` throws.
 */
export async function answerTrial(exchange: Exchange, gateway: TrialParts): Promise<void> {
  const { request, response, id, head } = exchange;
  const snapshot = gateway.current();
  const { consumer } = await admitOperator(exchange, gateway, ['POST', trialPath]);
  const refused = noRoute(request.method ?? '', pathOf(request.url ?? ''), [{ path: trialPath, method: 'POST' }]);
  if (refused !== undefined) throw refused;
  const held = gateway.bodies.open(consumer, snapshot);
  try {
    expectLength(head, limit);
    const trial = await inSlices(readTrial(await readBody(exchange, limit, held)));
    const { userPath, model, phase, isText } = trial;
    const route = visibleRoute(snapshot, model, onlyPath(userPath)) ?? { source: '', targets: [] };
    const tried = await tryGuardrails(guardrailsFor(snapshot.guardrails, userPath, model, route), trial);
    const { body, ...verdicts } = tried;
    const goesOn = body === undefined ? {} : isText ? { text: wordsOf(body, phase) } : { body };
    const said = {
      phase,
      user_path: userPath,
      model,
      ...verdicts,
      ...goesOn,
      config_revision: snapshot.revision,
      state_revision: gateway.managedState().status().revision,
      instance: gateway.instance,
      server_time: timestamp(Math.floor(gateway.nowMs())),
    };
    const written = await inSlices(writtenBody(said as unknown as JsonObject, true));
    response.writeHead(200, {
      ...fixedHeaders,
      'content-type': 'application/json; charset=utf-8',
      'content-length': written.length,
      'cache-control': 'no-store',
      'x-request-id': id,
    });
    response.end(written);
  } finally {
    held.release();
  }
}
