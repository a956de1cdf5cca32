// What fails in a random world, and what may then be over a cap.
import type { Account } from './account.ts';
import type { Dice, Kind, Plan } from './story.ts';
import type { Traffic } from './traffic.ts';
import type { FleetWorld } from './world.ts';

export interface Bounds {
  /** The most that a trailing period may hold. */
  most(cap: number, account: Account): number;
}

type Fault = (world: FleetWorld, traffic: Traffic, dice: Dice) => void;

const kill: Fault = (world, traffic, dice) => {
  const proxy = dice.of(world.proxies);
  if (!proxy.isUp) return;
  proxy.kill();
  traffic.killed(proxy);
  world.timeline.in(dice.of([1, 300, 3_000, 14_000]), () => {
    if (!proxy.isUp) proxy.start();
  });
};
const cut: Fault = (world, _traffic, dice) => dice.of(world.proxies).cut();
const cutSoon: Fault = (world, _traffic, dice) => {
  dice.of(world.proxies).isToBeCut = true;
};
/** One way or both are closed for a while. */
const part =
  (lowMs: number, highMs: number): Fault =>
  (world, _traffic, dice) => {
    const proxy = dice.of(world.proxies);
    proxy.reachableAtMs = Math.max(proxy.reachableAtMs, world.timeline.nowMs + dice.between(lowMs, highMs));
  };
const pause =
  (lowMs: number, highMs: number): Fault =>
  (world, _traffic, dice) => {
    const proxy = dice.of(world.proxies);
    if (proxy.isUp && !proxy.isPaused) proxy.pausedUntilMs = world.timeline.nowMs + dice.between(lowMs, highMs);
  };
const stall =
  (lowMs: number, highMs: number): Fault =>
  (world, _traffic, dice) => {
    const untilMs = world.timeline.nowMs + dice.between(lowMs, highMs);
    world.store.awakeAtMs = Math.max(world.store.awakeAtMs, untilMs);
  };
const lose: Fault = (world, _traffic, dice) => {
  world.crash(dice.isTrue(0.6) ? 1_000 : Number.POSITIVE_INFINITY, dice.of([5, 200, 1_500]));
};
const step: Fault = (world, _traffic, dice) => {
  world.setBack(dice.of([3_600_000, 500, 5_000]));
};
const short = [kill, cut, cutSoon, cutSoon, part(50, 2_500), pause(20, 1_500), stall(20, 400)];
const faultsOf: Readonly<Record<Kind, readonly Fault[]>> = {
  calm: [],
  cuts: [cutSoon, cutSoon, part(50, 400), pause(20, 400)],
  deaths: [kill],
  mixed: short,
  silent: [kill, part(2_000, 16_000), part(2_000, 16_000), pause(2_000, 16_000), stall(500, 6_000)],
  refunds: short,
  slots: [...short, part(2_000, 16_000), pause(2_000, 16_000)],
  tokens: short,
  edits: [cutSoon, pause(20, 300), stall(20, 300), edit],
  loss: [lose, cutSoon, part(50, 400), stall(20, 400)],
  steps: [step],
  share: [cut, cutSoon, pause(20, 1_500), stall(500, 9_000), part(500, 9_000)],
  open: [cut, pause(20, 1_500), stall(500, 9_000)],
};

/** Rules change: a cap is lowered or raised, a rule goes and comes back, its counts begin anew. All proxies follow within a second. */
function edit(world: FleetWorld, _traffic: Traffic, dice: Dice): void {
  const { settings } = world;
  const index = Math.floor(dice.random() * settings.rules.length);
  const rules = [...world.rules];
  const rule = settings.rules[index];
  if (rule === undefined) return;
  const change = dice.of(['cap', 'cap', 'gone', 'epoch']);
  const others = rules.filter(({ key }) => key !== rule.key);
  const before = rules.find(({ key }) => key === rule.key) ?? rule;
  const cap = Math.max(1, Math.floor((rule.maxRequests ?? 1) * dice.between(0.2, 1)));
  if (change === 'cap') world.rules = [...others, { ...before, maxRequests: cap }];
  else if (change === 'epoch') world.rules = [...others, { ...before, epoch: before.epoch + 1 }];
  else world.rules = others;
  for (const proxy of world.proxies) {
    const { fleet } = proxy;
    world.timeline.in(dice.between(0, 900), () => {
      if (proxy.isUp && fleet === proxy.fleet) proxy.follow();
    });
  }
  if (change !== 'gone') return;
  world.timeline.in(dice.between(1_000, 4_000), () => {
    if (!world.rules.some(({ key }) => key === rule.key)) world.rules = [...world.rules, before];
    for (const proxy of world.proxies) if (proxy.isUp) proxy.follow();
  });
}

/** Puts faults into a world. */
export function planFaults(world: FleetWorld, traffic: Traffic, plan: Plan, dice: Dice): Bounds {
  const { kind, untilMs, proxies } = plan;
  const faults = faultsOf[kind];
  const meanMs = ['cuts', 'deaths', 'refunds'].includes(kind) ? 300 : dice.between(1_000, 8_000);
  const orphan = (): void => {
    traffic.orphan();
    world.timeline.in(100, orphan);
  };
  if (kind === 'slots' || kind === 'silent') world.timeline.at(0, orphan);
  if (kind === 'loss') {
    const save = (): void => {
      world.store.save(world.timeline.nowMs);
      if (world.timeline.nowMs < untilMs) world.timeline.in(100, save);
    };
    world.timeline.at(0, save);
  }
  const strike = (): void => {
    if (world.timeline.nowMs > untilMs) return;
    dice.of(faults)(world, traffic, dice);
    world.timeline.in(-Math.log(1 - dice.random()) * meanMs + 50, strike);
  };
  if (faults.length > 0) world.timeline.at((kind === 'share' ? 2_000 : 500) + dice.random() * meanMs, strike);
  if (kind === 'share') return { most: (cap) => 2 * cap };
  if (kind === 'open') return { most: (cap) => (proxies + 1) * cap };
  return { most: (cap) => cap };
}
