// The conditions under which a plan fails a pipeline: a few names, each compared with a number.
import { didYouMean } from '../../../schemas/validation/suggest.ts';
import type { ImpactReport } from './report.ts';

/** `share`: of all requests, or of what is spent. */
interface Measured {
  readonly amount: (impact: ImpactReport) => number;
  readonly share: (impact: ImpactReport) => number;
}

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

export interface FailCondition {
  readonly text: string;
  /** Whether it holds, and what was found. */
  readonly check: (impact: ImpactReport) => { readonly holds: boolean; readonly found: string };
}

const form = /^\s*([a-z]+)\s*(>=|>)\s*(\d+(?:\.\d+)?)\s*(%?)\s*$/;

/** Such as `refusals > 0` and `cost > 5%`; or what is wrong with it, as a sentence without a full stop. */
export function readFailCondition(text: string): FailCondition | string {
  const [, name = '', operator, number, percent] = form.exec(text) ?? [];
  const names = Object.keys(measures);
  if (name === '')
    return `${JSON.stringify(text)} is no condition: write a name, > or >=, and a number, such as "refusals > 0" or "cost > 5%"`;
  const measure = Object.hasOwn(measures, name) ? measures[name] : undefined;
  if (measure === undefined)
    return `${JSON.stringify(name)} is unknown${didYouMean(name, names)}; known are ${names.join(', ')}`;
  const limit = Number(number);
  return {
    text: text.trim(),
    check(impact) {
      const found = percent === '%' ? 100 * measure.share(impact) : measure.amount(impact);
      const holds = operator === '>' ? found > limit : found >= limit;
      return { holds, found: `${Number(found.toFixed(2))}${percent ?? ''}` };
    },
  };
}
