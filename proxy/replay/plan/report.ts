// The report of a plan as data: what text, JSON and Markdown are made of.
import { basename } from 'node:path';
import { timestamp } from '../../../domain/timestamp.ts';
import type { ConfigChange } from '../../../gitops/diff/config-change.ts';
import type { Group, Impact, Move } from '../impact.ts';
import type { ReplayedImpact } from '../replay.ts';
import { deepestPath } from './deepest-path.ts';
import type { Overrides } from './overrides.ts';
import type { Traffic } from './traffic-source.ts';

/** Rows of one table. */
const mostRows = 20;
/** User paths of one row. */
const mostPaths = 5;
const dayMs = 86_400_000;

export interface Row {
  readonly requests: number;
  readonly first_at: string;
  /** Ids of requests. */
  readonly samples: readonly string[];
  /** The deepest user path that all of them lie in. */
  readonly within: string;
  /** Those with the most. */
  readonly user_paths: readonly { readonly user_path: string; readonly requests: number }[];
}

export interface Cause extends Row {
  /** The rule, budget, key or model. */
  readonly by: string;
}

export interface Moved extends Row, Move {
  /** Of the requests for the model, 0 to 1. */
  readonly share: number;
}

/** Of one user path. */
export interface Change {
  readonly user_path: string;
  readonly before: number;
  readonly after: number;
}

export interface ImpactReport {
  readonly traffic: {
    readonly source: string;
    readonly from: string;
    readonly to: string;
    readonly requests: number;
    /** The share of the requests that the traffic holds, 0 to 1. */
    readonly share: number;
    /** Of how many requests the configuration before gives the verdict that was recorded, 0 to 1. */
    readonly agreement: number;
  };
  readonly refusals: {
    readonly before: number;
    readonly after: number;
    /** `after`, if answers that were not recorded are half, or twice, as long as is typical. */
    readonly range?: readonly [number, number];
    /** Those whose number changes. */
    readonly user_paths: readonly Change[];
    readonly added: readonly Cause[];
    readonly removed: readonly Cause[];
  };
  readonly moved: readonly Moved[];
  /** US dollars. */
  readonly cost: {
    readonly before: number;
    readonly after: number;
    /** In the time of the traffic; of more than a day, on average of one. */
    readonly added: number;
    readonly is_per_day: boolean;
    readonly user_paths: readonly Change[];
    /** Requests without a price. */
    readonly unpriced: number;
  };
  /** Requests whose answer was not recorded at the model that would answer. */
  readonly guessed: number;
  /** Answers of the cache that a provider would have to give. */
  readonly uncached: number;
}

/** All that a plan says. */
export interface PlanReport {
  readonly against: string;
  readonly changes: readonly ConfigChange[];
  /** Absent: not known, or left out. */
  readonly overrides?: Overrides;
  /** Absent: no traffic was named. */
  readonly impact?: ImpactReport;
  /** Sentences. */
  readonly not_known: readonly string[];
  /** Conditions of `--fail-on` that hold. */
  readonly failed: readonly string[];
}

export function impactReport(
  { impact, range }: ReplayedImpact,
  { name, head }: Pick<Traffic, 'name' | 'head'>,
): ImpactReport {
  const { requests, refusals, agreed, spent } = impact;
  const days = Math.max(impact.lastMs - impact.firstMs, 1) / dayMs;
  return {
    traffic: {
      source: basename(name),
      from: requests === 0 ? head.from : timestamp(impact.firstMs),
      to: requests === 0 ? head.to : timestamp(impact.lastMs),
      requests,
      share: head.share,
      agreement: requests === 0 ? 1 : agreed / requests,
    },
    refusals: {
      before: refusals.before,
      after: refusals.after,
      ...(range === undefined ? {} : { range }),
      user_paths: changes(impact.refusedAt, 1),
      added: causes(impact.refused),
      removed: causes(impact.admitted),
    },
    moved: movedRows(impact),
    cost: {
      before: rounded(spent.before),
      after: rounded(spent.after),
      added: rounded((spent.after - spent.before) / Math.max(days, 1)),
      is_per_day: days > 1,
      user_paths: changes(impact.spentBy, leastDollars),
      unpriced: impact.unpriced,
    },
    guessed: impact.guessed,
    uncached: impact.uncached,
  };
}

/** To nano-dollars: sums of many doubles have digits that mean nothing. */
function rounded(dollars: number): number {
  return Math.round(dollars * 1e9) / 1e9;
}

function causes(groups: ReadonlyMap<string, Group>): Cause[] {
  return [...groups]
    .map(([by, group]) => ({ by, ...rowOf(group) }))
    .sort((one, other) => other.requests - one.requests)
    .slice(0, mostRows);
}

/** Requests that go from one to the other and others that go back cancel out: a strategy may deal the same shares in another order. */
function movedRows({ moved, served }: Impact): Moved[] {
  const back = ({ model, from, to }: Move): number => moved.get(JSON.stringify([model, to, from]))?.count ?? 0;
  return [...moved.values()]
    .map(({ model, from, to, ...group }): Moved => {
      const requests = group.count - back({ model, from, to });
      return { model, from, to, ...rowOf(group), requests, share: requests / (served.get(model) ?? group.count) };
    })
    .filter(({ requests }) => requests > 0)
    .sort((one, other) => other.requests - one.requests)
    .slice(0, mostRows);
}

/** Those that change by at least so much, the most first. */
function changes(sums: ReadonlyMap<string, Pick<Change, 'before' | 'after'>>, least: number): Change[] {
  const size = ({ before, after }: Pick<Change, 'before' | 'after'>): number => Math.abs(after - before);
  return [...sums]
    .map(([userPath, { before, after }]) => ({ user_path: userPath, before: rounded(before), after: rounded(after) }))
    .filter((each) => size(each) >= least)
    .sort((one, other) => size(other) - size(one))
    .slice(0, mostRows);
}

/** Smaller sums are the rounding of single requests. */
const leastDollars = 0.000_001;

function rowOf({ count, firstMs, samples, byUserPath }: Group): Row {
  const paths = [...byUserPath].sort(([, one], [, other]) => other - one);
  return {
    requests: count,
    first_at: timestamp(firstMs),
    samples,
    within: deepestPath(paths.map(([path]) => path)),
    user_paths: paths.slice(0, mostPaths).map(([path, requests]) => ({ user_path: path, requests })),
  };
}
