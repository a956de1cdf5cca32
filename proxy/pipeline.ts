// The line itself: what happens to a model request, in order. The order is written down here and nowhere else.
import type { HeldBody } from './body-budget.ts';
import { readCall, readLargeCall } from './call/call.ts';
import type { Exchange } from './connection/exchange.ts';
import { refuse } from './connection/refuse.ts';
import type { ModelEndpoint } from './endpoints/model-endpoint.ts';
import { Refusal, refusal } from './errors.ts';
import type { Gateway } from './gateway.ts';
import { rateLimitHeaders } from './limits/headers.ts';
import type { Route } from './snapshot/snapshot.ts';
import { type Allowance, admit, renew } from './stages/admit.ts';
import { type Accepted, attempt } from './stages/attempt.ts';
import { authenticate } from './stages/authenticate.ts';
import { expectJson, receive } from './stages/receive.ts';
import { relay } from './stages/relay.ts';
import { resolve } from './stages/resolve.ts';
import { type Outcome, settle } from './stages/settle.ts';
import { UsageTap } from './tokens/usage-tap.ts';

/** Bodies beyond this are read in steps. */
const largeBytes = 1024 * 1024;

/** Serves one request of a model endpoint, whatever happens. Rejects only when not even a refusal could be written or settled. */
export async function serve(endpoint: ModelEndpoint, exchange: Exchange, gateway: Gateway): Promise<void> {
  const snapshot = gateway.current();
  gateway.metrics.begin();
  let held: HeldBody | undefined;
  let consumer: Allowance | undefined;
  let route: Route | undefined;
  let accepted: Accepted | undefined;
  let outcome: Outcome | undefined;
  try {
    if (gateway.overload.isOverloaded()) throw refusal('overloaded', { headers: { 'retry-after': '1' } });
    const { keyId, userPath, allowedModels } = authenticate(exchange, snapshot.credentials);
    expectJson(exchange, snapshot.bodyLimitBytes);
    consumer = admit(userPath, gateway);
    held = gateway.bodies.open(keyId ?? userPath, snapshot);
    const body = await receive(exchange, snapshot.bodyLimitBytes, held);
    const call = body.length > largeBytes ? await readLargeCall(body) : readCall(body);
    route = resolve(call, snapshot, allowedModels);
    renew(consumer, route, gateway);
    accepted = await attempt(route, endpoint.operation, call, consumer, exchange, gateway);
    const { answer, target, allowance } = accepted;
    const provider = target.upstream.name;
    const tap = new UsageTap(accepted, accepted, gateway.usageEnabled);
    const headers = rateLimitHeaders(allowance.matches, consumer.matches, Math.floor(gateway.nowMs()));
    const { status } = await relay({ answer, provider, taps: [tap], headers, keyId }, exchange, gateway);
    outcome = { status, provider, usage: tap.usage() };
  } catch (error) {
    // Without a route no provider was called; with one, the attempt knows whether.
    if (route === undefined) consumer?.lease.refund(Math.floor(gateway.nowMs()));
    if (!(error instanceof Refusal)) gateway.reportFailure(error, exchange.id);
    const { status, provider = '' } = refuse(error, exchange);
    outcome = { status, provider };
  } finally {
    held?.release();
    settle(endpoint.path, outcome ?? { status: 500, provider: '' }, [consumer, accepted?.allowance], exchange, gateway);
  }
}
