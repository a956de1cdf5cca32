// Runs recorded requests through one configuration: access, budgets, rules, routes and prices as the gateway decides them, on the clock of the traffic.
import { budgetTitle } from '../../domain/budgets/budget.ts';
import type { Price } from '../../domain/prices/price.ts';
import type { TrafficLine } from '../../domain/records/traffic.ts';
import { type Rule, ruleTitle } from '../../domain/rules/rule.ts';
import type { SpentBudget } from '../budgets/spent-budget.ts';
import { type Counting, rulesOfConsumer, rulesOfTarget } from '../limits/counted-rules.ts';
import type { Lease } from '../limits/lease.ts';
import type { Matches } from '../limits/match.ts';
import { foreseen } from '../limits/rejection.ts';
import { reserveTokens } from '../limits/reserve.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import { awaitAnswer, wantedAt } from './await-answer.ts';
import { callerOf, type ReplayedCaller } from './caller.ts';
import { dollarsOfTokens, isSamePrice, nanoOf } from './cost-of-tokens.ts';
import { OpenRequests } from './open-requests.ts';
import { type KnownAnswer, knownAnswer, nameOf, orderOf, type Place, placesOf } from './recorded.ts';
import type { Typical } from './typical.ts';
import { refused, type Verdict } from './verdict.ts';
import { factsOf, signatureOf, whereTo } from './where-to.ts';
import type { World } from './world.ts';

/** How a configuration balanced a request. */
export interface Balanced {
  /** Of its route; undefined: its name led nowhere. */
  readonly signature?: string;
  /** The targets whose rules had no room, as `<provider>/<model>`. */
  readonly full: readonly string[];
  /** Of the target that answered. */
  readonly price?: Price | undefined;
}

export interface Replayed {
  readonly verdict: Verdict;
  readonly balanced: Balanced;
}

export interface ReplayOptions {
  /** What requests like one have taken. */
  readonly typical: Typical;
  /** Answers that were not recorded take so many times what is typical. */
  readonly scale: number;
  /** Which rules count a request at a path; undefined: the path names no model. */
  readonly countingAt: (path: string) => Counting | undefined;
}

/** A request whose consumer was admitted. */
interface Asking extends ReplayedCaller, KnownAnswer {
  readonly line: TrafficLine;
  readonly nowMs: number;
  readonly counts: Counting;
  readonly matches: Matches;
  readonly lease: Lease;
}

/** A target that is asked, until its answer is over. */
interface Held {
  readonly place: Place;
  readonly rules: Matches;
  readonly lease: Lease;
  readonly endMs: number;
}

const nowhere: Balanced = { full: [] };
/** Between two looks at idle counters. Requests. */
const sweepEvery = 1_000;

export class Replayer {
  readonly world: World;
  readonly #options: ReplayOptions;
  readonly #open = new OpenRequests();
  #count = 0;

  constructor(world: World, options: ReplayOptions) {
    this.world = world;
    this.#options = options;
  }

  /**
   * What becomes of the next request; they come in the order in which they began. `recorded`: how the configuration that recorded it balanced it;
   * undefined: this is that one.
   */
  decide(line: TrafficLine, recorded?: Balanced): Replayed {
    const nowMs = Math.floor(line.at);
    this.#open.settleUntil(nowMs);
    this.#count += 1;
    if (this.#count % sweepEvery === 0) this.world.limiter.sweep(nowMs);
    const caller = callerOf(line, this.world);
    if (caller === undefined) return stopped(refused('invalid_api_key', `key ${line.key ?? ''}`));
    const entered = this.#enter(line, caller, nowMs);
    return 'outcome' in entered ? stopped(entered) : this.#resolve(entered, recorded);
  }

  /** The steps before the model counts: cache, budgets, the rules of the consumer. */
  #enter(line: TrafficLine, caller: ReplayedCaller, nowMs: number): Verdict | Asking {
    const { limiter, budgets, snapshot } = this.world;
    const { isEnabled, semantic } = snapshot.cache;
    if (isEnabled && (line.cached === 'exact' || (line.cached === 'semantic' && semantic !== undefined)))
      return { outcome: 'cached', cost: 0 };
    const usual: Counting = line.calls === undefined && line.status !== 429 ? 'nothing' : 'everything';
    const counts = this.#options.countingAt(line.path) ?? usual;
    const spent = counts === 'nothing' ? undefined : budgets.refusing(caller, nowMs);
    if (spent !== undefined) return refused('budget_exceeded', `budget ${budgetTitle(spent as SpentBudget)}`);
    const matches = rulesOfConsumer(counts, caller.userPath, limiter);
    const { lease, rejection } = limiter.admit(matches, nowMs);
    if (lease === undefined) return refused('rate_limit_exceeded', `rule ${ruleTitle(rejection.rule)}`);
    const known = knownAnswer(line, this.#options);
    return { ...caller, ...known, line, nowMs, counts, matches, lease };
  }

  /** Where its name leads, and whether the tokens of its consumer suffice. */
  #resolve(asking: Asking, recorded: Balanced | undefined): Replayed {
    const { line, nowMs, userPath, labels, access, lease, counts } = asking;
    const { snapshot, limiter } = this.world;
    const facts = factsOf(line, userPath.toLowerCase(), labels, snapshot);
    const { route, code } = line.model === undefined ? unnamed : whereTo(line.model, facts, access, snapshot);
    if (code !== undefined && !(code === 'model_not_found' && this.#isDiscovered(line))) {
      lease.refund(nowMs);
      return stopped(refused(code, `model ${line.model ?? ''}`));
    }
    const isFull = (target: Target): boolean => foreseen(rulesOfTarget(counts, target, limiter), nowMs) !== undefined;
    const full = (route?.targets ?? []).filter(isFull).map(nameOf);
    const balanced = { full, ...(route === undefined ? {} : { signature: signatureOf(route) }) };
    if (asking.isOwnFault) {
      lease.refund(nowMs);
      return { verdict: { outcome: 'failed' }, balanced };
    }
    const places = this.#placesFor(asking, route, recorded ?? balanced);
    const tokens = this.#reserve(asking, places);
    if (tokens !== undefined) return { verdict: tokens, balanced };
    const answering = route?.targets.find((target) => nameOf(target) === asking.answered);
    const priced = { ...balanced, price: answering?.price };
    return { verdict: this.#ask(asking, places, recorded ?? priced), balanced: priced };
  }

  /** A provider that is asked for its models has some that the configuration does not name. */
  #isDiscovered({ calls = [] }: TrafficLine): boolean {
    const { upstreams } = this.world.snapshot;
    return calls.some(({ provider }) => upstreams.some(({ name, discovery }) => name === provider && discovery));
  }

  /** As recorded, where the route is the same and the choice depended neither on rules nor on drains; else as the strategy chooses. */
  #placesFor({ line, nowMs, answered }: Asking, route: Route | undefined, recorded: Balanced): readonly Place[] {
    if (route === undefined) return placesOf(line, []);
    const { states, balance } = this.world;
    const isSame = recorded.signature === signatureOf(route);
    const isOut = (target: Target): boolean => states.drainOf(target) !== undefined;
    const isFree = recorded.full.every((name) => name === answered) && !route.targets.some(isOut);
    if (isSame && isFree && line.calls !== undefined) return placesOf(line, route.targets);
    const ordered = balance(route, { nowMs, thread: line.session }).filter((target) => !isOut(target));
    return isSame && route.strategy === 'failover' ? orderOf(ordered, answered, recorded.full) : ordered;
  }

  /** Sets the tokens of the consumer aside; or the refusal. */
  #reserve({ line, nowMs, userPath, matches, lease, tokens }: Asking, places: readonly Place[]): Verdict | undefined {
    const { limiter } = this.world;
    if (!limiter.countsTokens(matches)) return undefined;
    const wanted = places.map((place) =>
      wantedAt(limiter, { target: nameOf(place), consumer: userPath }, line, tokens),
    );
    const rejection = reserveTokens(lease, matches, Math.max(0, ...wanted), nowMs);
    if (rejection === undefined) return undefined;
    return refused('rate_limit_exceeded', `rule ${ruleTitle(rejection.rule)}`);
  }

  /** Asks the targets in this order: those that failed when they were recorded fail again. */
  #ask(asking: Asking, places: readonly Place[], recorded: Balanced): Verdict {
    const { line, nowMs, userPath, lastsMs, lease, tokens, answered } = asking;
    const { limiter } = this.world;
    const failing = new Set((line.calls ?? []).map(({ provider, model }) => `${provider}/${model}`));
    if (answered !== undefined) failing.delete(answered);
    const endMs = nowMs + Math.ceil(lastsMs);
    let isAsked = places.length === 0;
    let by: Rule | undefined;
    for (const place of places) {
      const name = nameOf(place);
      const rules = rulesOfTarget(asking.counts, place, limiter);
      const wanted = limiter.countsTokens(rules)
        ? wantedAt(limiter, { target: name, consumer: userPath }, line, tokens)
        : 0;
      const { lease: held, rejection } = limiter.admit(rules, nowMs, 'skip_target', wanted);
      if (held === undefined) {
        by ??= rejection.rule;
        continue;
      }
      if (!failing.has(name)) return this.#serve(asking, { place, rules, lease: held, endMs }, recorded);
      isAsked = true;
      this.#open.add(endMs, () => held.release());
    }
    if (isAsked) {
      this.#open.add(endMs, () => lease.release());
      return { outcome: 'failed' };
    }
    lease.refund(nowMs);
    return refused('rate_limit_exceeded', by === undefined ? 'no target' : `rule ${ruleTitle(by)}`);
  }

  #serve(asking: Asking, { place, rules, lease, endMs }: Held, recorded: Balanced): Verdict {
    const { line, matches, tokens, userPath } = asking;
    const { limiter, budgets } = this.world;
    const name = nameOf(place);
    const isSame = asking.isRecorded && name === asking.answered;
    const isPricedSo = isSame && isSamePrice(recorded.price, place.price) && line.cost !== undefined;
    const cost = isPricedSo ? (line.cost ?? null) : dollarsOfTokens(tokens, place.price);
    const total = Math.round(tokens.input + tokens.output);
    const awaited = awaitAnswer(limiter, { target: name, consumer: userPath });
    this.#open.add(endMs, () => {
      limiter.charge(matches, total, endMs, asking.lease);
      limiter.charge(rules, total, endMs, lease);
      asking.lease.release();
      lease.release();
      awaited?.end(Math.round(tokens.output));
      if (cost !== null && cost > 0) budgets.charge(asking, () => [{ cost: nanoOf(cost), atMs: endMs }], endMs);
    });
    return { outcome: 'served', target: name, cost, ...(isSame ? {} : { isGuessed: true }) };
  }
}

const unnamed: { readonly route?: undefined; readonly code?: undefined } = {};

function stopped(verdict: Verdict): Replayed {
  return { verdict, balanced: nowhere };
}
