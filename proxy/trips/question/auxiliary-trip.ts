// One question of the gateway to a model on its way: admitted, sent, read and settled. It owns its slots, its timer and its record.

import { type Call, readCall } from '../../call/call.ts';
import type { BodyCapture } from '../../capture/body-capture.ts';
import { type JsonObject, parseObject, writeJson } from '../../dialects/json/json.ts';
import { type ModelRow, modelEndpoints } from '../../endpoints/model-endpoints.ts';
import { asRefusal, Refusal, refusal } from '../../errors.ts';
import type { ModelRequest } from '../../http/exchange.ts';
import { type ConsumerAllowance, limitRefusal } from '../../routing/limit-refusal.ts';
import type { Route, Snapshot, Target } from '../../snapshot/snapshot.ts';
import { admit } from '../../stages/admit.ts';
import { attempt } from '../../stages/attempt.ts';
import type { Accepted, FailedAttempt } from '../../stages/attempts.ts';
import type { Principal } from '../../stages/authenticate.ts';
import { checkBudgets } from '../../stages/budget.ts';
import { type Candidates, candidates } from '../../stages/candidates.ts';
import { deliver } from '../../stages/deliver.ts';
import type { Delivery, Ending } from '../../stages/relay.ts';
import { resolve } from '../../stages/resolve.ts';
import { type CallTrip, settleCall } from '../../stages/settle.ts';
import type { AuxiliaryOutcome } from '../../tallies/auxiliary-tally.ts';
import type { UsageSource } from '../../tokens/token-usage.ts';
import { type AuxiliaryParts, callerOf, type Question, requestFor, type ServedRequest, sessionOf } from './question.ts';
import { readDelivery } from './read-delivery.ts';

/** Who waits for the answer. */
interface Asker {
  resolve(answer: JsonObject): void;
  reject(reason: Refusal): void;
}

const rowOf = (operation: Question['operation']): ModelRow => {
  const row = modelEndpoints.find((endpoint) => endpoint.operation === operation);
  if (row === undefined) throw new Error(`no endpoint is for ${operation}`);
  return row;
};

export class AuxiliaryTrip implements CallTrip {
  readonly exchange: ModelRequest;
  readonly snapshot: Snapshot;
  readonly principal: Principal;
  readonly sessionId: string | undefined;
  readonly askedBy = 'gateway';
  readonly failed: FailedAttempt[] = [];
  consumer: ConsumerAllowance | undefined;
  call: Call | undefined;
  route: Route | undefined;
  accepted: Accepted | undefined;
  usage: UsageSource | undefined;
  capture: BodyCapture | undefined;
  ending: Ending = { status: 500, headers: [], refused: undefined };
  readonly #question: Question;
  readonly #row: ModelRow;
  readonly #gateway: AuxiliaryParts;
  readonly #asker: Asker;
  readonly #leave = (): void => this.#breakOff(refusal('client_left'));
  #timer: NodeJS.Timeout | undefined;
  /** Why the answer is not needed any more. */
  #left: Refusal | undefined;
  #isOver = false;

  constructor(question: Question, served: ServedRequest, gateway: AuxiliaryParts, asker: Asker) {
    this.exchange = requestFor(served, gateway);
    this.snapshot = served.snapshot;
    this.principal = callerOf(question, served);
    this.sessionId = sessionOf(served);
    this.#question = question;
    this.#row = rowOf(question.operation);
    this.#gateway = gateway;
    this.#asker = asker;
  }

  get path(): string {
    return this.#row.path;
  }

  get remembered(): Target | undefined {
    return this.accepted?.target;
  }

  start(): void {
    try {
      this.#ask();
    } catch (error) {
      this.refuse(error);
    }
  }

  #ask(): void {
    const { snapshot, principal } = this;
    const { body, purpose, signal, timeoutMs } = this.#question;
    const gateway = this.#gateway;
    const { limiter, metrics, records } = gateway;
    if (signal?.aborted) {
      this.#leave();
      throw refusal('client_left');
    }
    // What guardrails ask is what the client said, before they have let it through.
    const isOriginal = purpose === 'guardrails' && !snapshot.audit.hasOriginals;
    this.capture = isOriginal ? undefined : records.capture(snapshot, principal.userPath);
    const call = readCall(Buffer.from(writeJson({ ...body, stream: undefined })));
    this.call = call;
    this.capture?.takeRequest(call.body);
    this.capture?.takeGuarded(call.body);
    checkBudgets(principal, gateway);
    // The consumer has asked once: what the gateway asks for that counts under the rules of providers and models alone.
    const admission = admit(limiter.unlimited, snapshot.toldLimits, gateway);
    if (admission.lease === undefined) throw limitRefusal(admission.rejection, admission.told, metrics);
    this.consumer = admission;
    const named = resolve(call, snapshot, undefined, principal.userPath);
    signal?.addEventListener('abort', this.#leave, { once: true });
    const late = { model: call.model, ms: timeoutMs };
    this.#timer = setTimeout(() => this.#breakOff(refusal('auxiliary_timeout', { fill: late })), timeoutMs);
    const found = candidates({ call, home: undefined, named }, this.#row, snapshot.storedResponses);
    if (!(found instanceof Promise)) this.#send(found, admission);
    else found.then((come) => this.#send(come, admission)).catch((error: unknown) => this.refuse(error));
  }

  #send({ call, route, translated }: Candidates, consumer: ConsumerAllowance): void {
    const gateway = this.#gateway;
    this.route = route;
    const asked = { ...this.#row, call, route, consumer, translated };
    attempt(asked, this.exchange, gateway, this.failed).then(
      (accepted) => this.#takeAnswer(accepted),
      (error: unknown) => this.refuse(error),
    );
  }

  /** What has come is charged; what still comes is of no use. */
  #breakOff(reason: Refusal): void {
    if (this.#left !== undefined || this.#isOver) return;
    this.#left = reason;
    this.exchange.gone = true;
    this.exchange.waiting?.gone();
  }

  #takeAnswer(accepted: Accepted): void {
    try {
      this.accepted = accepted;
      const { delivery, usage } = deliver(accepted, this, this.#gateway);
      this.usage = usage;
      readDelivery(this.#watched(delivery), this.exchange, (body, broken) => this.#takeBody(body, broken));
    } catch (error) {
      accepted.answer.cancel();
      this.refuse(error);
    }
  }

  #watched(delivery: Delivery): Delivery {
    const { capture } = this;
    if (capture === undefined) return delivery;
    return { ...delivery, taps: [...delivery.taps, capture.tapOf(delivery.answer, this.#row.operation)] };
  }

  #takeBody(body: Buffer, broken: Refusal | undefined): void {
    const answer = parseObject(body.toString('utf8'));
    const refused = this.#left ?? broken;
    if (refused !== undefined) this.refuse(refused);
    else if (answer !== undefined) this.#end(undefined, answer);
    else {
      const provider = this.accepted?.target.upstream.name ?? '';
      this.refuse(refusal('upstream_invalid_response', { provider, fill: { reason: 'it is not a JSON object' } }));
    }
  }

  refuse(error: unknown): void {
    const { exchange, consumer, route } = this;
    const { nowMs, reportFailure } = this.#gateway;
    // Without a route no provider was called; with one, the attempt knows whether.
    if (route === undefined) consumer?.lease.refund(Math.floor(nowMs()));
    if (!(error instanceof Refusal)) reportFailure(error, exchange.id);
    this.#end(this.#left ?? asRefusal(error, exchange.id), undefined);
  }

  #outcomeOf(refused: Refusal | undefined): AuxiliaryOutcome {
    if (refused === undefined) return 'answered';
    if (this.#left !== undefined) return this.#left.code === 'client_left' ? 'cancelled' : 'timeout';
    return this.accepted === undefined && this.failed.length === 0 ? 'refused' : 'failed';
  }

  #end(refused: Refusal | undefined, answer: JsonObject | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { purpose, signal } = this.#question;
    clearTimeout(this.#timer);
    signal?.removeEventListener('abort', this.#leave);
    this.ending = { status: refused?.status ?? 200, headers: [], refused };
    try {
      settleCall(this, this.#gateway);
    } catch (error) {
      this.#gateway.reportFailure(error, this.exchange.id);
    }
    this.capture?.release();
    this.#gateway.metrics.auxiliary.note(purpose, this.#outcomeOf(refused));
    if (answer !== undefined) this.#asker.resolve(answer);
    else this.#asker.reject(refused ?? refusal('internal_error', { fill: { request_id: this.exchange.id } }));
  }
}
