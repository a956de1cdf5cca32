// Random worlds: a seed decides the rules, the traffic, and what fails. `tell` runs one and says what was wrong in it.

import type { OnStoreLoss } from '../../../../domain/rules/on-store-loss.ts';
import type { Rule } from '../../../../domain/rules/rule.ts';
import { look } from '../../../../store/state/limits/book.ts';
import { createRandom } from '../../../support/random.ts';
import { ruleOf } from '../rule-of.ts';
import { planFaults } from './faults.ts';
import type { SimulatedProxy } from './simulated-proxy.ts';
import { Traffic } from './traffic.ts';
import { FleetWorld } from './world.ts';

/**
 * What a world is about. `calm`: nothing fails. `cuts`: connections do, and nothing is booked twice. `deaths`: processes are killed. `mixed`: short faults of all kinds. `silent`: proxies are stopped or cut off for long.
 * `refunds`: most requests are not carried out. `slots`, `tokens`: of these, with faults. `edits`: rules change. `loss`: the store forgets.
 * `steps`: its clock is set. `share`, `open`: requests are admitted without it.
 */
export const kinds = [
  'calm',
  'cuts',
  'deaths',
  'mixed',
  'silent',
  'refunds',
  'slots',
  'tokens',
  'edits',
  'loss',
  'steps',
  'share',
  'open',
] as const;
export type Kind = (typeof kinds)[number];

export interface Telling {
  readonly faults: readonly string[];
  readonly events: number;
  readonly traffic: Traffic;
  readonly exchanges: number;
  /** The most over a cap, as a part of it. */
  readonly worst: number;
}

/** Numbers and choices of a world. */
export class Dice {
  readonly random: () => number;

  constructor(seed: number) {
    this.random = createRandom(seed);
  }

  between(low: number, high: number): number {
    return low + this.random() * (high - low);
  }

  /** Whole, both ends included; small ones are as likely as large ones. */
  size(low: number, high: number): number {
    return Math.min(high, Math.floor(low * (high / low + 1 / low) ** this.random()));
  }

  of<Choice>(choices: readonly Choice[]): Choice {
    return choices[Math.floor(this.random() * choices.length)] as Choice;
  }

  isTrue(probability: number): boolean {
    return this.random() < probability;
  }
}

export interface Plan {
  readonly kind: Kind;
  readonly proxies: number;
  readonly rules: readonly Rule[];
  readonly paths: readonly string[];
  readonly untilMs: number;
  /** Requests a millisecond, as a mean. */
  readonly rate: number;
  readonly refundShare: number;
  /** The mean time for which a request is open, and the tokens that it is thought to take. */
  readonly lastsMs: number;
  readonly tokens: number;
}

const lossModes: Partial<Record<Kind, OnStoreLoss>> = { share: 'share', open: 'open' };

/** `requests`: about so many come in the world. */
function planOf(kind: Kind, dice: Dice, requests: number): Plan {
  const proxies = dice.size(1, { calm: 50, cuts: 6, deaths: 6, refunds: 6, silent: 8 }[kind as string] ?? 20);
  const period = dice.of(
    { refunds: [1, 1, 2], cuts: [1, 60, 60], deaths: [1, 2, 20] }[kind as string] ?? [1, 2, 5, 10, 20, 60],
  );
  const periods = dice.between(2.2, 4);
  const seconds = Math.max(
    kind === 'cuts' ? 5 : periods * period,
    { calm: 5, cuts: 5, deaths: 8, mixed: 5, refunds: 6 }[kind as string] ?? 30,
  );
  const demand = dice.between(0.6, 2.5);
  const mostCap = Math.max(2, Math.min(60_000, Math.floor((requests / demand) * (period / seconds))));
  const cap = dice.size(1, mostCap);
  const rate = Math.min(requests / seconds, Math.max(1, (cap * demand) / period)) / 1_000;
  const open = { slots: dice.size(1, 40), tokens: dice.size(20, 4_000) };
  const rules: Rule[] = [];
  const isNested = dice.isTrue(0.3);
  if (kind === 'slots' || (kind === 'edits' && dice.isTrue(0.5)))
    rules.push(ruleOf('user_path', '/team', 0, { maxRequests: open.slots }));
  const hasTokens = kind === 'tokens' || (kind === 'edits' && dice.isTrue(0.4));
  if (hasTokens) rules.push(ruleOf('user_path', '/team', period, { maxTokens: cap * open.tokens }));
  if (kind !== 'tokens' || dice.isTrue(0.3))
    rules.push(ruleOf('user_path', '/team/a', kind === 'slots' ? 1 : period, { maxRequests: cap }));
  if (isNested && !hasTokens)
    rules.push(
      ruleOf('user_path', '/team', dice.of([1, 2, 10]), {
        maxRequests: Math.max(1, Math.ceil(cap * dice.between(0.3, 2))),
      }),
    );
  if (dice.isTrue(0.2))
    rules.push(ruleOf('user_path', '/team/a', 5, { maxRequests: Math.max(1, Math.ceil(cap / 4)), perChild: true }));
  const paths = ['/team/a', '/team/a/x', '/team/a/y', ...(isNested ? ['/team/b'] : [])];
  const lastsMs =
    kind === 'slots' ? (open.slots / rate) * dice.between(0.5, 2) : dice.between(1, kind === 'refunds' ? 1_500 : 400);
  return {
    kind,
    proxies,
    rules,
    paths,
    untilMs: seconds * 1000,
    rate,
    refundShare: kind === 'refunds' ? 0.6 : kind === 'cuts' ? 0 : dice.of([0, 0, 0.1]),
    lastsMs: Math.min(lastsMs, 20_000),
    tokens: hasTokens ? open.tokens : 0,
  };
}

/** Tells the story of a seed; `requests`: about so many come. */
export async function tell(kind: Kind, seed: number, requests: number): Promise<Telling> {
  const dice = new Dice(seed);
  const plan = planOf(kind, dice, requests);
  const world = new FleetWorld({
    random: dice.random,
    proxies: plan.proxies,
    rules: plan.rules,
    onStoreLoss: lossModes[kind] ?? 'closed',
    latencyMs: dice.of(kind === 'refunds' || kind === 'cuts' ? [1.2, 4] : [0.1, 0.25, 1.2]),
    mostAheadMs: 5_000,
    isExact: !['loss', 'steps', 'share', 'open'].includes(kind),
  });
  const isCalm = kind === 'calm' && plan.refundShare === 0;
  const traffic = new Traffic(world, isCalm ? 'all' : kind === 'steps' ? 'patience' : 'nothing');
  planRequests(world, traffic, plan, dice);
  const bounds = planFaults(world, traffic, plan, dice);
  await world.run(plan.untilMs);
  if (kind === 'cuts') await judgeTotals(world);
  await settle(world, traffic, plan);
  let worst = 0;
  for (const [key, account] of world.accounts) {
    const cap = account.mostCap;
    const most = account.lane === 'slots' ? account.mostOpen : account.worstWindow();
    const excess = account.lane === 'tokens' ? account.mostExcess : 0;
    if (account.lane === 'tokens' && kind !== 'tokens') continue;
    worst = Math.max(worst, most / cap - 1);
    if (most > bounds.most(cap, account) + excess) world.fault('over', `${most} of ${cap} in a period: ${key}`);
  }
  if (isCalm) judgeCalm(world, traffic, plan);
  const faults = [...world.faults].map(([name, what]) => `${name} ${what}`);
  return { faults, events: world.timeline.passed, traffic, exchanges: world.exchanges, worst };
}

/** So much of a cap may be free at a refusal, beside one unit that is on its way. */
const mostRoom = 0.01;

/** Where nothing fails, hardly anything is refused that one limiter in one place would have admitted. */
function judgeCalm(world: FleetWorld, traffic: Traffic, { rules, untilMs }: Plan): void {
  if (traffic.worstRoom > mostRoom) world.fault('room', `${traffic.worstRoom} of the cap were free at a refusal`);
  const { admitted, ideal, timed, exactSeconds } = traffic;
  if (timed >= 30 && exactSeconds < 0.9 * timed)
    world.fault('moments', `${exactSeconds} of ${timed} moments were right`);
  const [rule] = rules;
  if (rules.length > 1 || rule === undefined) return;
  const cap = rule.maxRequests ?? 0;
  const periods = untilMs / 1000 / rule.periodSeconds;
  if (ideal - admitted > Math.max(1, 0.01 * cap) * periods)
    world.fault('too few', `${admitted} were admitted, one limiter admits ${ideal} with a cap of ${cap}`);
}

/** What the store counts in the end is what was used, and not more. */
async function judgeTotals(world: FleetWorld): Promise<void> {
  const { timeline, store, proxies } = world;
  for (const proxy of proxies) {
    proxy.isToBeCut = false;
    proxy.reachableAtMs = 0;
  }
  await world.run(timeline.nowMs + 1_500);
  for (const [key, account] of world.accounts) {
    const { used } = look(store.tables, key, store.clockMs(timeline.nowMs));
    // A use may be booked a slice later than it was, and leaves a slice later.
    const real = account.used(world.storeMs, 2);
    if (account.lane === 'requests' && used > real)
      world.fault('booked twice', `${used} are counted, ${real} were used: ${key}`);
  }
}

/** Requests come in stretches, each with a rate and with proxies that get more than others. */
function planRequests(world: FleetWorld, traffic: Traffic, plan: Plan, dice: Dice): void {
  const { timeline } = world;
  let rate = plan.rate;
  let favourite: SimulatedProxy | undefined;
  const turn = (): void => {
    rate = plan.rate * dice.of([0.2, 0.8, 1, 1, 1.5, 3]);
    favourite = dice.isTrue(0.4) ? dice.of(world.proxies) : undefined;
    timeline.in(dice.between(300, 4_000), turn);
  };
  const come = (): void => {
    if (timeline.nowMs > plan.untilMs) return;
    const burst = dice.isTrue(0.02) ? dice.size(1, 30) : 1;
    for (let count = 0; count < burst; count += 1) {
      const proxy = favourite !== undefined && dice.isTrue(0.8) ? favourite : dice.of(world.proxies);
      traffic.ask(proxy, {
        path: dice.of(plan.paths),
        lastsMs: -Math.log(1 - dice.random()) * plan.lastsMs,
        isRefunded: dice.isTrue(plan.refundShare),
        wanted: plan.tokens === 0 ? 0 : Math.ceil(plan.tokens * dice.between(0.5, 1.5)),
        tokens: plan.tokens === 0 ? 0 : Math.ceil(plan.tokens * dice.between(0.1, dice.isTrue(0.1) ? 3 : 1)),
      });
    }
    timeline.in(-Math.log(1 - dice.random()) / rate, come);
  };
  timeline.at(300, turn);
  timeline.at(300, come);
  const flush = (): void => {
    for (const proxy of world.proxies) if (proxy.isUp && !proxy.isPaused) proxy.flush();
    timeline.in(1_000, flush);
  };
  timeline.at(900, flush);
}

/** When all have ended and all is well again, nothing is held and nothing is left to tell. */
async function settle(world: FleetWorld, traffic: Traffic, plan: Plan): Promise<void> {
  const { timeline, store } = world;
  for (const proxy of world.proxies) {
    proxy.reachableAtMs = 0;
    if (!proxy.isUp) proxy.start();
  }
  // Dead sessions are buried behind ten seconds, and idle units come back within the period.
  const longest = Math.max(...plan.rules.map(({ periodSeconds }) => periodSeconds), 1);
  await world.run(timeline.nowMs + 15_000 + longest * 1000 + plan.lastsMs * 15);
  const waiting = world.proxies.reduce((sum, { fleet }) => sum + fleet.status.waiting, 0);
  if (traffic.open > 0 || waiting > 0) world.fault('left', `${traffic.open} requests are open, ${waiting} wait`);
  for (const [key, account] of world.accounts) {
    const { held } = look(store.tables, key, store.clockMs(timeline.nowMs));
    if (held !== 0) world.fault('held', `${held} are held in the end: ${key}`);
    for (const stock of account.stocks.keys())
      if (stock.inUse !== 0) world.fault('set aside', `${stock.inUse} are set aside in the end: ${key}`);
  }
}
