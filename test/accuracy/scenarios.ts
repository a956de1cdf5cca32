// What the measurement of shared caps runs, as data: loads with a cap each, faults, and when each request is due.

/** The requests of one cap. */
export interface LoadPlan {
  readonly name: string;
  /** Requests admitted in a period. */
  readonly cap: number;
  readonly periodSeconds: number;
  /** Requests sent, × cap. */
  readonly demand: number;
  /** `bursts`: ten a period, each half right before and half right behind the boundary of a slice (a sixtieth of the period). */
  readonly shape: 'steady' | 'bursts';
  /** `rate_limits…on_store_loss` of the cap. */
  readonly onStoreLoss: 'share' | 'closed';
}

/** `kill`: SIGKILL of a third of the proxies, twice. `store`: SIGKILL of Redis, twice; it starts again on its append-only file. */
export type Fault = 'none' | 'kill' | 'store';

/** All loads at once on one fleet. */
export interface Phase {
  readonly name: string;
  readonly scope: 'fleet' | 'replica';
  readonly fault: Fault;
  /** Of the time, relative to the other phases. */
  readonly weight: number;
}

/** Of every load. */
const usual = { periodSeconds: 5 } as const;

/** None of it is refused while nothing fails, whether caps are shared or not: its latencies are compared. */
export const roomyPlan: LoadPlan = {
  name: 'below the cap',
  cap: 500,
  ...usual,
  demand: 0.9,
  shape: 'steady',
  onStoreLoss: 'closed',
};

export const plans: readonly LoadPlan[] = [
  { name: 'steady', cap: 100, ...usual, demand: 2, shape: 'steady', onStoreLoss: 'closed' },
  { name: 'steady, share', cap: 300, ...usual, demand: 2, shape: 'steady', onStoreLoss: 'share' },
  roomyPlan,
  { name: 'bursts', cap: 200, ...usual, demand: 3, shape: 'bursts', onStoreLoss: 'closed' },
];

/** In the second, each proxy has all caps for itself: what answers take without a shared cap. The first lets the code become fast. */
export const phases: readonly Phase[] = [
  { name: 'warm-up', scope: 'replica', fault: 'none', weight: 0.5 },
  { name: 'scope: replica', scope: 'replica', fault: 'none', weight: 1 },
  { name: 'no fault', scope: 'fleet', fault: 'none', weight: 2 },
  { name: 'kill -9 of proxies', scope: 'fleet', fault: 'kill', weight: 2 },
  { name: 'kill -9 of Redis', scope: 'fleet', fault: 'store', weight: 2 },
];

/** What another gateway with one cap is asked, one after the other. */
export function plansOf({ cap, periodSeconds }: Pick<LoadPlan, 'cap' | 'periodSeconds'>): readonly LoadPlan[] {
  const one = { cap, periodSeconds, onStoreLoss: 'closed' } as const;
  return [
    { ...one, name: 'below the cap', demand: 0.9, shape: 'steady' },
    { ...one, name: 'steady', demand: 2, shape: 'steady' },
    { ...one, name: 'bursts', demand: 3, shape: 'bursts' },
  ];
}

/** The moments at which the requests of a load are due, in order, between two moments. Milliseconds since 1970. */
export function dueTimes(plan: LoadPlan, fromMs: number, toMs: number): readonly number[] {
  const periodMs = plan.periodSeconds * 1_000;
  const perPeriod = plan.cap * plan.demand;
  if (plan.shape === 'steady') {
    const count = Math.floor(((toMs - fromMs) * perPeriod) / periodMs);
    return Array.from({ length: count }, (_, index) => fromMs + (index * periodMs) / perPeriod);
  }
  const burst = Math.max(2, Math.round(perPeriod / 10));
  const times: number[] = [];
  const everyMs = periodMs / 10;
  for (let atMs = Math.ceil((fromMs + 2) / everyMs) * everyMs; atMs + 2 < toMs; atMs += everyMs) {
    for (let index = 0; index < burst; index += 1) times.push(index < burst / 2 ? atMs - 2 : atMs + 2);
  }
  return times;
}
