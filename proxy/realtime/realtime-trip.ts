// A request of the realtime API on its way: who asks, what it holds, and how it is counted and logged when it is over, exactly once.
import { isRoutingMember } from '../call/call.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { isGuarded } from '../guardrails/applying.ts';
import type { Exchange } from '../http/exchange.ts';
import { explain } from '../limits/rejection.ts';
import { type ConsumerAllowance, limitRefusal, targetRules } from '../routing/limit-refusal.ts';
import type { Route, Snapshot, Target } from '../snapshot/snapshot.ts';
import { admit } from '../stages/admit.ts';
import type { Principal } from '../stages/authenticate.ts';
import { checkBudgets } from '../stages/budget.ts';
import { pricedPart } from '../stages/priced.ts';
import { asksForAlias, resolve } from '../stages/resolve.ts';
import { partOf } from '../stages/route-part.ts';
import { costOfUsage } from '../tokens/attempt-usage.ts';
import { sumUsage } from '../tokens/sum-usage.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import type { AskedInVain, Granted } from './ask-targets.ts';
import { closedToGuarded } from './closed-to-guarded.ts';

/** A request that may go on. */
interface Admitted {
  readonly route: Route;
  readonly consumer: ConsumerAllowance;
}

/** Whether a target can be asked for a session. */
export function hasRealtime({ speeches }: Target): boolean {
  return speeches.realtime !== undefined;
}

export class RealtimeTrip {
  readonly path: string;
  readonly method: string;
  /** What the access log says. */
  readonly asked: { readonly method: string; readonly path: string };
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly failed: AskedInVain[] = [];
  principal: Principal | undefined;
  consumer: ConsumerAllowance | undefined;
  call: { readonly model: string; readonly stream: boolean } | undefined;
  route: Route | undefined;
  accepted: Granted<unknown> | undefined;
  ending: { readonly refused: Refusal | undefined; readonly headers?: readonly string[] } = { refused: undefined };
  /** Of the answer that opened a session, names and values in turn. */
  answerHeaders: readonly string[] = [];
  #usage: TokenUsage | undefined;
  #isOver = false;

  constructor(path: string, method: string, exchange: Exchange, snapshot: Snapshot) {
    this.path = path;
    this.method = method;
    this.asked = { method, path };
    this.exchange = exchange;
    this.snapshot = snapshot;
  }

  /** It makes a secret for a browser, which asks no model. What a call over WebRTC costs is not seen here. */
  get isFree(): boolean {
    return this.path.endsWith('/client_secrets');
  }

  get isAlias(): boolean | undefined {
    return asksForAlias(this.call, this.snapshot, this.principal?.userPath);
  }

  takeCaller(principal: Principal, { keyUses }: Gateway): void {
    this.principal = principal;
    this.exchange.caller = principal;
    keyUses.note(principal.keyId, this.exchange.startedAtMs);
  }

  /**
   * Takes one request, and a slot, from the rules of the consumer. `query`: the members that a provider would be told. Throws what `resolve`
   * does, 400 `unsupported_operation` where no target has realtime, 429 `budget_exceeded` and 429 `rate_limit_exceeded`.
   */
  admit(model: string, gateway: Gateway, query = new URLSearchParams()): Admitted {
    const { principal, snapshot, path } = this;
    const isSession = this.method === 'GET';
    this.call = { model, stream: isSession };
    const routingMember = [...query.keys()].find((name) => name !== 'model' && isRoutingMember(name));
    const named = resolve({ model, routingMember }, snapshot, principal?.allowedModels, principal?.userPath);
    if (isGuarded(snapshot.guardrails, { userPath: principal?.userPath ?? '/', model, named })) throw closedToGuarded();
    const able = partOf(named, hasRealtime);
    if (able === undefined)
      throw refusal('unsupported_operation', { param: 'model', fill: { what: 'model', name: model, path } });
    const route = pricedPart(able, model, this);
    this.route = route;
    const { limiter, metrics } = gateway;
    if (principal !== undefined) checkBudgets(principal, gateway);
    const admission = admit(limiter.forUserPath(principal?.shownPath ?? '/'), snapshot.toldLimits, gateway);
    if (admission.lease === undefined) {
      const { rejection, matches, told } = admission;
      const now = Math.floor(gateway.nowMs());
      const whole = limiter.limitsTargets ? explain(targetRules(route, limiter), matches, now, rejection) : rejection;
      throw limitRefusal(whole, told, metrics);
    }
    this.consumer = admission;
    return { route, consumer: admission };
  }

  /** Tokens count as soon as they are known. */
  charge(usage: TokenUsage, gateway: Pick<Gateway, 'limiter' | 'metrics' | 'nowMs'>): void {
    const { limiter, metrics } = gateway;
    const now = Math.floor(gateway.nowMs());
    for (const allowance of [this.consumer, this.accepted?.allowance]) {
      if (allowance !== undefined) limiter.charge(allowance.matches, usage.totalTokens, now, allowance.lease);
    }
    metrics.tokens(usage.source, usage.totalTokens);
    if (this.accepted !== undefined) {
      metrics.upstream.charged(this.accepted.target, usage.inputTokens, usage.outputTokens);
    }
    // Each response is priced by itself: a session is no long context, and a transcript of another model hides no cost.
    const cost = costOfUsage(usage, this.accepted?.target.price);
    this.#usage = sumUsage(this.#usage, { ...usage, cost });
  }

  /** Gives everything back, counts and logs. Again does nothing. */
  end(status: number, refused: Refusal | undefined, gateway: Gateway): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.ending = { refused, headers: this.answerHeaders };
    this.consumer?.lease.release();
    this.accepted?.allowance.lease.release();
    const { metrics, accessLog, records, telemetry } = gateway;
    const now = gateway.nowMs();
    const { path: endpoint, exchange, accepted, call } = this;
    const provider = accepted?.target.upstream.name ?? refused?.provider ?? '';
    const final = exchange.gone ? 499 : status;
    const seconds = (now - exchange.startedAtMs) / 1000;
    metrics.requests.end({ endpoint, provider, stream: call?.stream ?? false, status: final, seconds });
    accessLog.trip(this, { status: final, usage: this.#usage, nowMs: now });
    records.trip(this, { status: final, usage: this.#usage, nowMs: now });
    telemetry?.trip(this, { status: final, usage: this.#usage, nowMs: now });
  }
}
