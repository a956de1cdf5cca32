// The random stories that the limiter is tried with: what can happen, how often, and to which rules.
import * as fc from 'fast-check';

export const paths = ['/', '/a', '/a/b', '/a/b/c', '/ab', '/a/x/y', '/c', '/c/d', '/c/d/e', '/c/f'];
export const targets = [
  ['p', 'm'],
  ['P', 'M'],
  ['q', 'm'],
  ['q', 'x/y'],
  ['x', 'y'],
] as const;
export const subjects = [
  ['user_path', '/'],
  ['user_path', '/a'],
  ['user_path', '/a/b'],
  ['user_path', '/c'],
  ['provider', 'p'],
  ['provider', 'Q'],
  ['model', 'm'],
  ['model', 'P/m'],
  ['model', 'x/y'],
] as const;
export const periods = [0, 1, 7, 60, 61, 3_600, 86_400];

export interface Edit {
  subject: number;
  period: number;
  change: 'put' | 'delete' | 'caps' | 'mode' | 'reset' | 'template';
  requests: number | undefined;
  tokens: number | undefined;
  shadow: boolean;
  perChild: boolean;
  raise: boolean;
}

export type Step =
  | { do: 'request'; path: number; target: number; charge: number }
  | { do: 'release' | 'refund'; which: number }
  | { do: 'charge'; which: number; tokens: number }
  | { do: 'wait'; ms: number }
  | { do: 'reload'; edits: Edit[] }
  | { do: 'flush'; portion: number }
  | { do: 'stop' }
  | { do: 'kill'; backMs: number }
  | { do: 'sweep'; visits: number };

const edit: fc.Arbitrary<Edit> = fc.record({
  subject: fc.nat(subjects.length - 1),
  period: fc.nat(periods.length - 1),
  change: fc.constantFrom('put', 'put', 'put', 'delete', 'caps', 'caps', 'mode', 'reset', 'template'),
  requests: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined, freq: 4 }),
  tokens: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined, freq: 1 }),
  shadow: fc.nat(5).map((value) => value === 0),
  perChild: fc.nat(2).map((value) => value === 0),
  raise: fc.boolean(),
});

const gap = fc.oneof(
  { weight: 5, arbitrary: fc.nat(2_000) },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constantFrom(...periods), fc.nat(64)).map(([p, n]) => Math.ceil((p * n * 50) / 3)),
  },
  { weight: 2, arbitrary: fc.constantFrom(999, 1_000, 1_001, 59_999, 60_000, 60_001, 61_000, 3_600_000, 3_660_000) },
  { weight: 1, arbitrary: fc.constantFrom(86_400_000, 87_840_000, 400 * 86_400_000) },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.record({
      do: fc.constant('request' as const),
      path: fc.nat(paths.length - 1),
      target: fc.nat(targets.length - 1),
      charge: fc.oneof(fc.constant(0), fc.nat(30)),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constantFrom('release' as const, 'refund' as const), which: fc.nat(20) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('charge' as const), which: fc.nat(20), tokens: fc.nat(30) }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: gap }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('reload' as const), edits: fc.array(edit, { maxLength: 4 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('flush' as const), portion: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'stop' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('kill' as const), backMs: fc.constantFrom(0, 0, 1, 90_000, 7_200_000) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('sweep' as const), visits: fc.integer({ min: 1, max: 9 }) }) },
);

const first = fc.record({
  do: fc.constant('reload' as const),
  edits: fc.array(edit, { minLength: 2, maxLength: 12 }),
});

/** A rule set, and then 60 to 200 steps. */
export const story: fc.Arbitrary<readonly Step[]> = fc
  .tuple(first, fc.array(step, { minLength: 60, maxLength: 200 }))
  .map(([one, rest]) => [one, ...rest]);
