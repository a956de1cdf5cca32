// The explanation of a request that is sent, made while it was on its way, and what has become of it. For `X-Gateway-Explain: 1`.

import { randomUUID } from 'node:crypto';
import { timestamp } from '../../domain/timestamp.ts';
import { testOfExplanation } from '../../gitops/config-tests/test-of-explanation.ts';
import type { StateFollower } from '../../store/state/state-follower.ts';
import type { Budgets } from '../budgets/budgets.ts';
import type { Call } from '../call/call.ts';
import { RequestFacts } from '../call/request-facts.ts';
import { threadOf, threadOfHeaders } from '../call/thread.ts';
import type { Refusal } from '../errors.ts';
import { mayChangeRequests } from '../guardrails/applying.ts';
import type { Exchange } from '../http/exchange.ts';
import type { KeptExplanations } from '../kept/kept-explanations.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { LoggedAttempt } from '../records/logged-trip.ts';
import type { Balance } from '../routing/balance/balance.ts';
import type { InForce } from '../snapshot/in-force.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { Principal } from '../stages/authenticate.ts';
import type { NeededRoom } from '../stages/fitting.ts';
import type { SettledTrip } from '../stages/settle.ts';
import type { TargetStates } from '../targets/target-states.ts';
import { explainRequest } from './explain.ts';
import type { Explanation, MatchingRule } from './explanation.ts';
import { matchingRules } from './matching-rules.ts';
import type { Question } from './question.ts';
import { nameOf } from './target-steps.ts';

const header = 'x-gateway-explain-id';

interface ExplainedRequestParts {
  /** The time by which keys and sessions end: see `authorityClock`. Unix milliseconds. */
  readonly authorityMs: () => number;
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
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
  /** The state of each target between requests. */
  readonly targets: TargetStates;
}

/** A request that asked for it, its caller, and the snapshot it uses. */
interface RequestToExplain {
  readonly exchange: Exchange;
  readonly principal: Principal;
  readonly snapshot: Snapshot;
  /** Of its endpoint. */
  readonly path: string;
}

/**
 * Begins the explanation of a request before anything of it is counted, and names it in the answer, whatever that will be. Undefined for a
 * caller that may not read it.
 */
export function explainOnItsWay(asked: RequestToExplain, parts: ExplainedRequestParts): ExplainedRequest | undefined {
  if (asked.principal.mayReadExplanations !== true) return undefined;
  const explained = new ExplainedRequest(asked, parts);
  asked.exchange.response.setHeader(header, explained.id);
  return explained;
}

/** Nothing here throws: a request must not fail because it is explained. */
export class ExplainedRequest {
  readonly id = randomUUID();
  readonly #asked: RequestToExplain;
  readonly #parts: ExplainedRequestParts;
  /** The rules of the consumer before this request. */
  readonly #rules: readonly MatchingRule[];
  #explanation: Explanation | undefined;

  constructor(asked: RequestToExplain, parts: ExplainedRequestParts) {
    this.#asked = asked;
    this.#parts = parts;
    const question = this.#questionOf(undefined);
    const sources = { limiter: parts.limiter, inForce: parts.inForce() };
    this.#rules = matchingRules(parts.limiter.forUserPath(question.userPath), question, sources);
  }

  /** Its consumer was admitted and its body was read; no target is asked yet. */
  called(call: Call, needed: NeededRoom | undefined): void {
    this.#try(() => {
      this.#explanation = this.#withoutWords(this.#explain({ ...this.#questionOf(call), needed, before: this.#rules }));
      this.#keep({ is_over: false, attempts: [] });
    });
  }

  /** It is over, and holds nothing any more. */
  ended({ exchange, failed, accepted, ending, caching }: SettledTrip): void {
    this.#try(() => {
      // A consumer that is used up is refused before the body is read, so its model is not known.
      const isLimited = ['rate_limit_exceeded', 'budget_exceeded'].includes(ending.refused?.code ?? '');
      if (this.#explanation === undefined && isLimited) this.#explanation = this.#explain(this.#questionOf(undefined));
      this.#keep({
        is_over: true,
        duration_ms: Math.round(this.#parts.nowMs() - exchange.startedAtMs),
        answer: { status: exchange.gone ? 499 : ending.status, ...saidOf(ending.refused) },
        ...(caching === undefined ? {} : { cache: caching.outcome }),
        attempts: [...failed, ...(accepted === undefined ? [] : [accepted])].map(describeAttempt),
      });
    });
  }

  #questionOf(call: Call | undefined): Question {
    const { exchange, principal, snapshot, path } = this.#asked;
    const { rawHeaders } = exchange.request;
    const { stream = false } = call ?? {};
    return {
      facts: new RequestFacts({
        caller: principal,
        endpoint: path,
        stream,
        rawHeaders,
        said: call,
        localTime: snapshot.localTime,
        startedAtMs: exchange.startedAtMs,
      }),
      asking: { exchange, snapshot },
      userPath: principal.userPath,
      model: call?.model ?? '',
      stream,
      thread: call === undefined ? undefined : threadOf(rawHeaders, call),
      key: undefined,
      nowMs: Math.floor(this.#parts.nowMs()),
      authorityMs: this.#parts.authorityMs(),
      scope: '/',
    };
  }

  /** Removes the conversation's name when it comes from a body that guardrails may mask. */
  #withoutWords(explanation: Explanation): Explanation {
    const { exchange, principal, snapshot } = this.#asked;
    const isSafe = threadOfHeaders(exchange.request.rawHeaders) !== undefined || snapshot.audit.hasOriginals;
    if (isSafe || !mayChangeRequests(snapshot.guardrails, principal.userPath)) return explanation;
    const { thread: _thread, ...request } = explanation.request;
    return { ...explanation, request };
  }

  #explain(question: Question): Explanation {
    const { limiter, budgets, targets, foretell, inForce } = this.#parts;
    const { snapshot } = this.#asked;
    return explainRequest(question, { snapshot, inForce: inForce(), limiter, budgets, targets, foretell });
  }

  #keep(course: object): void {
    const { instance, managedState, keptExplanations, nowMs } = this.#parts;
    const { exchange, path } = this.#asked;
    const state = { state_revision: managedState().status().revision, instance };
    const record = {
      id: this.id,
      request_id: exchange.id,
      endpoint: path,
      received_at: timestamp(exchange.startedAtMs),
      ...course,
    };
    const of = { requestId: exchange.id, endpoint: path };
    const explanation = this.#explanation && {
      explanation: { ...this.#explanation, as_test: testOfExplanation(this.#explanation, of), ...state },
    };
    // An alias of thousands of targets may take too much.
    if (!keptExplanations.keep(this.id, JSON.stringify({ ...record, ...explanation }), nowMs()))
      keptExplanations.keep(this.id, JSON.stringify(record), nowMs());
  }

  #try(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#parts.reportFailure(error, this.#asked.exchange.id);
    }
  }
}

function describeAttempt({ target, startedAtMs, endedAtMs, refused, answer }: LoggedAttempt): object {
  const status = refused?.status ?? answer?.status;
  return {
    target: nameOf(target),
    outcome: refused === undefined ? 'accepted' : 'failed',
    started_at: timestamp(startedAtMs),
    duration_ms: Math.round(endedAtMs - startedAtMs),
    ...(status === undefined ? {} : { status }),
    ...saidOf(refused),
  };
}

function saidOf(refused: Refusal | undefined): object {
  if (refused === undefined) return {};
  const { code, message, headers, rule } = refused;
  const seconds = headers['retry-after'];
  return {
    ...(code === null ? {} : { code }),
    message,
    ...(seconds === undefined ? {} : { retry_after_seconds: Number(seconds) }),
    ...(rule === undefined ? {} : { rule: rule.label }),
  };
}
