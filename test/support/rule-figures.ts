// Reads the counters of rules for a path, for the providers `first` and `second` and for their model from the metrics.
import { type Gateway, readMetric } from './gateway.ts';

/** A power of two, so that a share of it says exactly how much is used. */
const windowCap = 1024;

/** One number for each rule of the concurrency or window kind. */
export interface PerRule {
  user: number;
  first: number;
  second: number;
  model: number;
}

export interface RuleFigures {
  /** Slots, now. */
  readonly held: PerRule;
  /** Requests that the window counts. */
  readonly used: PerRule;
}

export const none: PerRule = { user: 0, first: 0, second: 0, model: 0 };

/** What each of the rules must have for its figures to be read: slots, and a window. */
export function slotsAndWindow(concurrent = 1): object[] {
  return [
    { period: 'concurrent', max_requests: concurrent },
    { period: 'day', max_requests: windowCap },
  ];
}

const samplePattern = /^gateway_rate_limit_(rule_info|in_flight|utilization_ratio)\{(.*)\} (\S+)$/gm;
const labelPattern = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** NaN for a rule that is not there. */
export function readFigures(metrics: string): RuleFigures {
  const ruleIds = new Map<string, string>();
  const values = new Map<string, number>();
  for (const [, name, labelText = '', value] of metrics.matchAll(samplePattern)) {
    const labels = Object.fromEntries([...labelText.matchAll(labelPattern)].map(([, label, text]) => [label, text]));
    const { rule = '', scope, subject, period, dimension } = labels;
    if (name === 'rule_info') ruleIds.set(`${scope} ${subject} ${period}`, rule);
    else if (name === 'in_flight' || dimension === 'requests') values.set(`${name} ${rule}`, Number(value));
  }
  const perRule = (name: string, period: string): PerRule => {
    const read = (scope: string, subject: string): number =>
      values.get(`${name} ${ruleIds.get(`${scope} ${subject} ${period}`)}`) ?? Number.NaN;
    return {
      user: read('user_path', ''),
      first: read('provider', 'first'),
      second: read('provider', 'second'),
      model: read('model', 'fake-small'),
    };
  };
  const shares = perRule('utilization_ratio', 'day');
  return {
    held: perRule('in_flight', 'concurrent'),
    used: {
      user: shares.user * windowCap,
      first: shares.first * windowCap,
      second: shares.second * windowCap,
      model: shares.model * windowCap,
    },
  };
}

export async function figuresOf(gateway: Gateway): Promise<RuleFigures> {
  return readFigures(await gateway.metrics());
}

/** Whether no rule holds a slot and no request is open; of one scrape. */
export async function isFree(gateway: Gateway): Promise<boolean> {
  const metrics = await gateway.metrics();
  return isSame(readFigures(metrics).held, none) && readMetric(metrics, 'gateway_requests_in_flight') === 0;
}

export function minus(after: PerRule, before: PerRule): PerRule {
  return {
    user: after.user - before.user,
    first: after.first - before.first,
    second: after.second - before.second,
    model: after.model - before.model,
  };
}

export const isSame = (one: PerRule, other: PerRule): boolean => JSON.stringify(one) === JSON.stringify(other);
