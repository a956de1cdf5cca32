// The conditions under which a plan fails a pipeline: a few names, each compared with a number.
import { type FailCondition, type Measure, readCondition } from '../../../gitops/gate/conditions.ts';
import type { ImpactReport } from './report.ts';

/** Each has a share: of all requests, or of what is spent. */
type Measured = Required<Pick<Measure<ImpactReport>, 'amount' | 'share'>>;

const sum = (rows: readonly { readonly requests: number }[]): number =>
  rows.reduce((total, { requests }) => total + requests, 0);
const part = (amount: number, { traffic }: ImpactReport): number => amount / Math.max(1, traffic.requests);

const measures: Readonly<Record<string, Measured>> = {
  refusals: {
    amount: ({ refusals }) => sum(refusals.added),
    share: (impact) => part(sum(impact.refusals.added), impact),
  },
  moved: {
    amount: ({ moved }) => sum(moved),
    share: (impact) => part(sum(impact.moved), impact),
  },
  cost: {
    amount: ({ cost }) => cost.added,
    share: ({ cost }) => (cost.before === 0 ? Math.sign(cost.after) : (cost.after - cost.before) / cost.before),
  },
  unpriced: {
    amount: ({ cost }) => cost.unpriced,
    share: (impact) => part(impact.cost.unpriced, impact),
  },
};

export type PlanCondition = FailCondition<ImpactReport>;

/** Such as `refusals > 0` and `cost > 5%`; or what is wrong with it, as a sentence without a full stop. */
export function readFailCondition(text: string): PlanCondition | string {
  return readCondition(text, measures);
}
