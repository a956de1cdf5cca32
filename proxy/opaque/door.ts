// The type of a door of opaque calls: a row that says what is served there, and where its calls go.

import type { Price } from '../../domain/prices/price.ts';
import type { Answer, Tap } from '../answer.ts';
import type { Budgets } from '../budgets/budgets.ts';
import type { BodyCapture } from '../capture/body-capture.ts';
import type { Operation, Surface } from '../dialects/dialect.ts';
import type { Outside } from '../guardrails/outside.ts';
import type { HeldBody } from '../http/body-budget.ts';
import type { Exchange } from '../http/exchange.ts';
import type { KeptHomes } from '../kept/objects/kept-homes.ts';
import type { StoredResponses } from '../kept/responses/stored-responses.ts';
import type { Counting } from '../limits/counted-rules.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Speaker } from '../providers/provider-error.ts';
import type { KeyStyle } from '../providers/row.ts';
import type { RecordedGuarding } from '../records/guarded-data.ts';
import type { Records } from '../records/records.ts';
import type { Balance } from '../routing/balance/balance.ts';
import type { Route, Snapshot, Target, Upstream } from '../snapshot/snapshot.ts';
import type { Principal } from '../stages/authenticate.ts';
import type { TargetStates } from '../targets/target-states.ts';
import type { UsageSource } from '../tokens/token-usage.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import type { Deadlines } from '../upstream/deadlines.ts';
import type { Pools } from '../upstream/pools.ts';
import type { OpaqueBody, OpaqueMethod } from '../upstream/send-opaque.ts';
import type { UpstreamAnswer } from '../upstream/upstream-answer.ts';
import type { ClientBody } from './client-body.ts';

/** A request at a door. */
export interface Knock {
  readonly method: OpaqueMethod;
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly principal: Principal;
  readonly body: ClientBody;
  /** All of the body, where it is short and was there soon, empty where there is none; undefined: it is still coming. */
  readonly short: Buffer | undefined;
  /** Counts the memory of the part of the body that is kept. */
  readonly held: HeldBody;
  /** Tokens are counted. */
  readonly readsUsage: boolean;
  /** Records its bodies; undefined: they are not recorded. */
  readonly capture: BodyCapture | undefined;
  /** The models and services that guardrails may ask in its name. */
  readonly outside: Outside;
  /** Told which guardrails are at work: its record says what they have said. */
  readonly noteGuarding: (guarding: RecordedGuarding) => void;
  /** Told what is asked for, before it is known where that leads: the record of a call that is refused says it. */
  readonly noteAsked: (asks: NonNullable<Aim['call']>) => void;
}

/** A place where a call can be sent, and what is sent there. */
export interface OpaqueTarget {
  readonly upstream: Upstream;
  /** The model's id at the provider; empty: none is known. */
  readonly model: string;
  /** See `Askable`. */
  readonly isKeeper?: boolean;
  /** The client may say any model, or none. */
  readonly isPassed?: boolean;
  /** The model of the config that it is: what comes of the call is remembered of it. Absent: of nothing, because no model is asked. */
  readonly remembered?: Target | undefined;
  /** The cost, where it is known only when the body was sent. */
  readonly price?: Price | undefined;
  /** From the host on, with its query. */
  readonly path: string;
  /** Names and values in turn, without the key, the framing and what the provider is configured to get. */
  readonly headers: readonly string[];
  readonly keyStyle: KeyStyle;
  /** The key to ask with; absent: the next one of the provider. */
  readonly key?: ApiKey | undefined;
  /** Whose errors are read how. */
  readonly speaker: Speaker;
  /** The body for a target; called once for each time that it is sent. */
  readonly body: () => OpaqueBody;
}

/** The taps that see an answer pass. */
export interface Tapped {
  /** The one nearest to the provider first. */
  readonly taps: readonly Tap[];
  /** Undefined: nothing is known of what the answer costs. */
  readonly usage: UsageSource | undefined;
  /** The answer that is relayed; absent: that of the provider. */
  readonly answer?: Answer | undefined;
}

/** Where a call goes. */
export interface Aim {
  /** In the order in which they are asked for room. At least one. */
  readonly targets: readonly OpaqueTarget[];
  /** The route of the model that they all are: a further one is asked after a failure, as its policy says. Absent: one is asked, once. */
  readonly route?: Route;
  /** Whether the body can be sent once more; absent: it can. */
  readonly canSend?: () => boolean;
  /** As the client says them; undefined: it says nothing. */
  readonly call: { readonly model: string; readonly stream: boolean } | undefined;
  /** Called when an answer of the target can be relayed. */
  readonly tap: (answer: UpstreamAnswer, target: OpaqueTarget) => Tapped;
  /** The operation whose format the answer has; absent: none. */
  readonly operation?: Operation | undefined;
  /** The model that the body has turned out to ask for as it passed; absent: none, or it was known before. */
  readonly namedLate?: () => NamedLate | undefined;
}

/** Of a body that was too long to be read before it was sent. */
export interface NamedLate {
  readonly model: string;
  readonly price: Price | undefined;
}

/** The operation that is asked of the models which requests at a door name. */
export interface ModelsOfDoor {
  /** Whether a target can be asked there. */
  readonly canAsk: (target: Target) => boolean;
  /** It can, but it is not known whether its server has it; absent: that is always known. */
  readonly isAssumed?: (target: Target) => boolean;
  /** `strategy`: that of the route, one after the other until one answers; `first`: the first one that has room, in declared order; `keeper`: the one that keeps the file in which the model is named. */
  readonly choice: 'strategy' | 'first' | 'keeper';
  /** When no target can be asked. */
  readonly refusedAs: 'unsupported_operation' | 'batch_needs_one_provider';
}

/** The parts that the doors need. */
export interface DoorParts {
  readonly budgets: Budgets;
  /** Gives the targets of a route in the order in which they are asked. */
  readonly balance: Balance;
  /** The snapshot in force. */
  readonly current: () => Snapshot;
  readonly deadlines: Deadlines;
  /** Which providers keep the files and batches of callers. */
  readonly homes: KeptHomes;
  readonly limiter: Limiter;
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: () => number;
  readonly pools: Pools;
  readonly records: Records;
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
  /** Responses that the gateway keeps, and where providers keep others. */
  readonly storedResponses: StoredResponses;
  readonly targets: Pick<TargetStates, 'drainOf' | 'drainsModelsOf'>;
}

export interface OpaqueDoor {
  /** A path, or the beginning of one and `*`; a segment that begins with `:` stands for any. Metrics say it so. */
  readonly path: string;
  readonly methods: readonly OpaqueMethod[];
  /** Whose clients ask here: that decides some headers. */
  readonly surface: Surface;
  /** Which rules count its requests and refuse them. */
  readonly counts: Counting;
  /** Absent: its requests name no model, or none that leads them. */
  readonly models?: ModelsOfDoor;
  /** The limit of its bodies. */
  readonly bodySetting: 'body_limit' | 'upload_limit';
  /** Bytes of a body that are looked at before it is sent; 0: none. */
  readonly shortBytes: number;
  /** The client gets the headers of an answer as they are, but for those that are none of its business. */
  readonly relaysHeaders: boolean;
  /** Where it is closed, it is as if it were not there. */
  readonly isOpen: (snapshot: Snapshot) => boolean;
  /** Throws the Refusal of a call that goes nowhere. */
  readonly aim: (knock: Knock, parts: DoorParts) => Aim | Promise<Aim>;
}
