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

/** NaN for a rule that is not there. */
export function readFigures(metrics: string): RuleFigures {
  const find = (scope: string, subject: string, period: string): string => {
    const labels = `scope="${scope}",subject="${subject}",period="${period}"`;
    return new RegExp(`^gateway_rate_limit_rule_info\\{rule="([^"]+)",${labels}`, 'm').exec(metrics)?.[1] ?? '';
  };
  const perRule = (read: (scope: string, subject: string) => number | undefined): PerRule => ({
    user: read('user_path', '') ?? Number.NaN,
    first: read('provider', 'first') ?? Number.NaN,
    second: read('provider', 'second') ?? Number.NaN,
    model: read('model', 'fake-small') ?? Number.NaN,
  });
  return {
    held: perRule((scope, subject) =>
      readMetric(metrics, 'gateway_rate_limit_in_flight', { rule: find(scope, subject, 'concurrent') }),
    ),
    used: perRule((scope, subject) => {
      const rule = find(scope, subject, 'day');
      const share = readMetric(metrics, 'gateway_rate_limit_utilization_ratio', { rule, dimension: 'requests' });
      return share === undefined ? undefined : share * windowCap;
    }),
  };
}

export async function figuresOf(gateway: Gateway): Promise<RuleFigures> {
  return readFigures(await gateway.metrics());
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
