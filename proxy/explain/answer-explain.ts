// GET /admin/explain and what was explained before, by id: the proxy answers it itself, because it alone has the live counters, breakers and turns.

import { testOfExplanation } from '../../gitops/config-tests/test-of-explanation.ts';
import type { StateFollower } from '../../store/state/state-follower.ts';
import { type AdmitParts, admitOperator } from '../admin/admit-operator.ts';
import type { Budgets } from '../budgets/budgets.ts';
import { pathOf } from '../call/head.ts';
import type { NamingEndpoint } from '../endpoints/naming-endpoint.ts';
import { refusal } from '../errors.ts';
import { fixedHeaders } from '../http/answer-headers.ts';
import type { Exchange } from '../http/exchange.ts';
import { noRoute } from '../http/known-routes.ts';
import { expectNoBody } from '../http/no-body.ts';
import type { KeptExplanations } from '../kept/kept-explanations.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Balance } from '../routing/balance/balance.ts';
import type { InForce } from '../snapshot/in-force.ts';
import type { TargetStates } from '../targets/target-states.ts';
import type { Siblings } from '../workers/siblings.ts';
import { explainRequest, rulesOf, spenderOf } from './explain.ts';
import { readQuestion } from './read-question.ts';

const path = '/admin/explain';
const routes = ['GET', 'HEAD'].flatMap((method) => [path, `${path}/*`].map((each) => ({ path: each, method })));

export interface ExplainParts extends AdmitParts {
  /** Those that are used up. */
  readonly budgets: Budgets;
  /** Gives the order that `balance` would give, and takes no turn. */
  readonly foretell: Balance;
  /** The configuration in force as it is written. */
  readonly inForce: () => InForce;
  /** The name of this proxy. */
  readonly instance: string;
  /** Of requests that asked for an explanation. */
  readonly keptExplanations: KeptExplanations;
  readonly limiter: Limiter;
  /** The managed state that this proxy follows; requests are served only while there is one. */
  readonly managedState: () => Pick<StateFollower, 'status' | 'refresh'>;
  /** Monotonic milliseconds, anchored to wall time at start. */
  readonly nowMs: () => number;
  /** The other workers of this proxy: the request may have come to one of them. */
  readonly siblings: Pick<Siblings, 'ask'>;
  /** The state of each target between requests. */
  readonly targets: TargetStates;
}

/**
 * Serves one request. `endpoints`: those that it may name, by their paths. Throws what `admitOperator` throws, 404, 405, 400 `unexpected_body`, and
 * what `readQuestion` throws.
 */
export async function answerExplain(
  exchange: Exchange,
  gateway: ExplainParts,
  endpoints: ReadonlyMap<string, NamingEndpoint>,
): Promise<void> {
  const { request } = exchange;
  const snapshot = gateway.current();
  const url = request.url ?? '';
  const isKept = pathOf(url) !== path;
  const { userPath: scope } = await admitOperator(exchange, gateway, ['GET', isKept ? `${path}/:id` : path]);
  const refused = noRoute(request.method ?? '', pathOf(url), routes);
  if (refused !== undefined) throw refused;
  await expectNoBody(exchange);
  const nowMs = Math.floor(gateway.nowMs());
  if (isKept) {
    answer(exchange, await keptText(pathOf(url).slice(path.length + 1), gateway));
    return;
  }
  const asked = readQuestion(url.slice(path.length + 1), {
    scope,
    nowMs,
    authorityMs: gateway.authorityMs(),
    credentials: snapshot.credentials,
    tokenKeyOf: (id) => gateway.tokenKeys.withId(id),
    endpoints,
  });
  const { limiter, budgets, targets, foretell, instance } = gateway;
  const parts = { snapshot, inForce: gateway.inForce(), limiter, budgets, targets, foretell };
  await Promise.all([limiter.refresh(rulesOf(asked, parts), nowMs), budgets.refresh(spenderOf(asked), nowMs)]);
  const question = { ...asked, nowMs: Math.floor(gateway.nowMs()) };
  const explanation = explainRequest(question, parts);
  const { revision } = gateway.managedState().status();
  const asTest = { as_test: testOfExplanation(explanation) };
  answer(exchange, JSON.stringify({ ...explanation, ...asTest, state_revision: revision, instance }));
}

async function keptText(
  id: string,
  { keptExplanations, siblings, nowMs }: Pick<ExplainParts, 'keptExplanations' | 'siblings' | 'nowMs'>,
): Promise<Buffer | string> {
  const text = keptExplanations.get(id, nowMs()) ?? (await siblings.ask({ about: 'explanation', id }))[0];
  if (text === undefined) throw refusal('explanation_not_found', { fill: { id } });
  return text;
}

function answer({ request, response, id }: Exchange, text: string | Buffer): void {
  response.writeHead(200, {
    ...fixedHeaders,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-request-id': id,
  });
  response.end(request.method === 'HEAD' ? undefined : text);
}
