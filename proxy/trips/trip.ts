// The facts of a request on its way. Each fact is written once, by the stage that finds it out, in this order.
import type { MoneyHold } from '../budgets/money-hold.ts';
import type { BodyCapture } from '../capture/body-capture.ts';
import type { Rescued } from '../dialects/conversation/conversation.ts';
import type { HeldBody } from '../http/body-budget.ts';
import type { ModelRequest } from '../http/exchange.ts';
import type { RecordedGuarding } from '../records/guarded-data.ts';
import type { RecordedTrip } from '../records/record-of-trip.ts';
import type { ConsumerAllowance } from '../routing/limit-refusal.ts';
import type { Route, Snapshot, Target } from '../snapshot/snapshot.ts';
import type { Principal } from '../stages/authenticate.ts';
import type { Expected } from '../stages/expect.ts';
import type { Ending } from '../stages/relay.ts';
import type { SettledAnswer, SettledTrip } from '../stages/settle.ts';
import type { UsageSource } from '../tokens/token-usage.ts';

/** How a trip ends when not even a refusal could be written. */
const unanswered: Ending = { status: 500, headers: [], refused: undefined };

/** Facts that a stage did not reach are undefined. `Request`: what the request is; `Answer`: what is accepted for it. */
export abstract class Trip<
  Request extends ModelRequest = ModelRequest,
  Answer extends SettledAnswer = SettledAnswer,
  Failed extends RecordedTrip['failed'][number] = RecordedTrip['failed'][number],
  Rails extends RecordedGuarding = RecordedGuarding,
> implements SettledTrip
{
  /** Stage 0: the request, and the snapshot that it uses to its end. */
  readonly exchange: Request;
  readonly snapshot: Snapshot;
  /** That of the endpoint, as metrics say it. */
  abstract readonly path: string;
  /** The call; its body is known where it was read as a whole. */
  abstract readonly call: RecordedTrip['call'];
  /** Stage 1: who calls. */
  principal: Principal | undefined;
  /** Records its bodies; undefined: they are not recorded. */
  capture: BodyCapture | undefined;
  /** Stage 2: what it holds under the rules of its consumer. */
  consumer: ConsumerAllowance | undefined;
  /** Stage 3: the memory that its body takes. */
  held: HeldBody | undefined;
  /** Stage 4: where its name leads. */
  route: Route | undefined;
  /** Stage 5: what guardrails say of it; undefined: none holds for it. */
  guarding: Rails | undefined;
  /** Stage 7: what it will probably take; undefined: nothing is set aside for it. */
  expected: Expected | undefined;
  /** Stage 7: the money that is set aside for it under the budgets of its caller. */
  money: MoneyHold | undefined;
  /** Stage 7: targets may have been asked, so what they were asked for is paid. */
  isAsked = false;
  readonly failed: Failed[] = [];
  accepted: Answer | undefined;
  /** Stage 8: how another target told the rest of an answer that broke off; undefined: one target told all of it. */
  rescued: Rescued | undefined;
  /** Stage 8: knows what the accepted answer cost. */
  usage: UsageSource | undefined;
  /** Stage 9. */
  ending: Ending = unanswered;

  constructor(exchange: Request, snapshot: Snapshot) {
    this.exchange = exchange;
    this.snapshot = snapshot;
  }

  /** The target whose answer was accepted, where it is remembered how it answers. */
  abstract get remembered(): Target | undefined;

  /** The principal of a request whose caller is known. */
  get caller(): Principal {
    if (this.principal === undefined) throw new Error('the caller of the request is not known yet');
    return this.principal;
  }

  /** The allowance of a request that was admitted. */
  get admitted(): ConsumerAllowance {
    if (this.consumer === undefined) throw new Error('the consumer of the request was not admitted yet');
    return this.consumer;
  }
}
