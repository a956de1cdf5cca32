// The line itself: what happens to a model request, in order. The order is written down here and nowhere else.
import type { HeldBody } from './body-budget.ts';
import { type Call, readCall, readLargeCall } from './call/call.ts';
import { answerRefusal } from './connection/answer-refusal.ts';
import type { Exchange } from './connection/exchange.ts';
import type { ModelEndpoint } from './endpoints/model-endpoints.ts';
import { Refusal, refusal } from './errors.ts';
import type { Gateway } from './gateway.ts';
import { rateLimitHeaders } from './limits/headers.ts';
import { SecretsTap } from './providers/secrets-tap.ts';
import type { Route } from './snapshot/snapshot.ts';
import { type Allowance, admit, renew } from './stages/admit.ts';
import { type Accepted, attempt, type FailedAttempt } from './stages/attempt.ts';
import { authenticate, type Principal } from './stages/authenticate.ts';
import { foresee } from './stages/foresee.ts';
import { expectJson, receive } from './stages/receive.ts';
import { type Ending, relay } from './stages/relay.ts';
import { resolve } from './stages/resolve.ts';
import { settle } from './stages/settle.ts';
import { UsageTap } from './tokens/usage-tap.ts';

/** Bodies beyond this are read in steps. */
const largeBytes = 1024 * 1024;

/** How a trip ends when not even a refusal could be written. */
const unanswered: Ending = { status: 500, headers: [], refused: undefined };

/** Serves one request of a model endpoint, whatever happens. Rejects only when not even a refusal could be written or settled. */
export async function serve({ path, operation }: ModelEndpoint, exchange: Exchange, gateway: Gateway): Promise<void> {
  const snapshot = gateway.current();
  gateway.metrics.begin();
  let held: HeldBody | undefined;
  let principal: Principal | undefined;
  let consumer: Allowance | undefined;
  let call: Call | undefined;
  let route: Route | undefined;
  const failed: FailedAttempt[] = [];
  let accepted: Accepted | undefined;
  let usageTap: UsageTap | undefined;
  let ending = unanswered;
  try {
    if (gateway.overload.isOverloaded()) throw refusal('overloaded', { headers: { 'retry-after': '1' } });
    principal = authenticate(exchange, snapshot.credentials);
    const { keyId, userPath, allowedModels } = principal;
    expectJson(exchange, snapshot.bodyLimitBytes);
    const admission = admit(userPath, gateway);
    held = gateway.bodies.open(keyId ?? userPath, snapshot);
    if (admission.lease === undefined)
      throw await foresee(admission, { exchange, snapshot, allowedModels, held }, gateway);
    consumer = admission;
    const body = await receive(exchange, snapshot.bodyLimitBytes, held);
    call = body.length > largeBytes ? await readLargeCall(body) : readCall(body);
    route = resolve(call, snapshot, allowedModels);
    renew(consumer, route, gateway);
    const routed = { operation, call, route, consumer };
    accepted = await attempt(routed, failed, exchange, gateway);
    const { answer, target, allowance } = accepted;
    usageTap = new UsageTap(routed, accepted, gateway.usageEnabled);
    const headers = rateLimitHeaders(allowance.matches, consumer.matches, Math.floor(gateway.nowMs()));
    const provider = target.upstream.name;
    const isWatched = answer.stream && answer.contentEncoding === undefined;
    const taps = [usageTap, new SecretsTap(target.upstream.secrets, isWatched)];
    ending = await relay({ answer, provider, taps, headers, keyId }, exchange, gateway);
  } catch (error) {
    // Without a route no provider was called; with one, the attempt knows whether.
    if (route === undefined) consumer?.lease.refund(Math.floor(gateway.nowMs()));
    if (!(error instanceof Refusal)) gateway.reportFailure(error, exchange.id);
    const refused = answerRefusal(error, exchange);
    ending = { status: refused.status, headers: [], refused };
  } finally {
    held?.release();
    const trip = { path, exchange, snapshot, principal, consumer, call, route, failed, accepted, usageTap, ending };
    settle(trip, gateway);
  }
}
