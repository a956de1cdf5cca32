// Compares what a test expects with what came.
import { lengthMs } from '../../gitops/config-tests/length-ms.ts';
import type { ConfigTest, GuardrailVerdict, Refused } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import type { Came } from './came.ts';
import { TestMistake, unknownName } from './test-mistake.ts';

/** An expectation that does not hold. */
export interface Unmet {
  /** Within the test. */
  readonly path: Path;
  readonly expected: string;
  readonly came: string;
}

/** Sums of tokens and prices are rounded to a billionth of a dollar. */
const tolerance = 0.6e-9;

/** Throws a `TestMistake` for an expectation that cannot be judged. */
export function compare({ expect }: ConfigTest, came: Came): readonly Unmet[] {
  const { admitted, refused, targets, alias, guardrail, price } = expect;
  const unmet: Unmet[] = [];
  const check = (member: Path, holds: boolean, expected: string, found: string): void => {
    if (!holds) unmet.push({ path: ['expect', ...member], expected, came: found });
  };
  const outcome = sayOutcome(came);
  if (admitted !== undefined)
    check(['admitted'], admitted === (came.refusal === undefined), admitted ? 'admitted' : 'refused', outcome);
  if (refused !== undefined) unmet.push(...compareRefusal(refused, came));
  if (alias !== undefined)
    check(
      ['alias'],
      came.alias.includes(alias),
      `the alias ${alias}`,
      came.alias[0] === undefined ? 'no alias' : `the alias ${came.alias[0]}`,
    );
  if (guardrail !== undefined) unmet.push(...compareVerdict(guardrail, came));
  // A refused request asks nothing and costs nothing.
  if (targets !== undefined) {
    const found = came.refusal === undefined ? came.targets : [];
    check(
      ['targets'],
      isSame(targets, found),
      targets.join(', then '),
      found.length === 0 ? outcome : found.join(', then '),
    );
  }
  if (price !== undefined) {
    const found = came.refusal === undefined ? came.price : undefined;
    const isEqual = typeof found === 'number' && Math.abs(found - price) <= tolerance;
    check(
      ['price'],
      isEqual,
      `$${price}`,
      found === undefined ? outcome : found === null ? 'no price is known' : `$${Number(found.toFixed(9))}`,
    );
  }
  return unmet;
}

/** In one line. */
export function sayOutcome({ refusal, targets }: Pick<Came, 'refusal' | 'targets'>): string {
  if (refusal === undefined) return targets[0] === undefined ? 'admitted' : `admitted, and sent to ${targets[0]}`;
  const { status, code, names, retryAfterSeconds } = refusal;
  const by = names[0] === undefined ? '' : ` by ${names[0]}`;
  return `refused with ${status} ${code}${by}${retryAfterSeconds === undefined ? '' : `, to come again in ${retryAfterSeconds}s`}`;
}

function compareRefusal({ by, code, status, retry_after: wait }: Refused, came: Came): readonly Unmet[] {
  const { refusal } = came;
  if (refusal === undefined)
    return [
      {
        path: ['expect', 'refused'],
        expected: `refused${by === undefined ? '' : ` by ${by}`}`,
        came: sayOutcome(came),
      },
    ];
  const { names, retryAfterSeconds } = refusal;
  const waited = retryAfterSeconds === undefined ? 'no wait' : `${retryAfterSeconds}s`;
  const rows: readonly (readonly [member: keyof Refused, holds: boolean, expected: string, found: string])[] = [
    [
      'by',
      by === undefined || names.includes(by),
      by ?? '',
      names[0] ?? `${refusal.code}: no rule, budget or guardrail`,
    ],
    ['code', code === undefined || code === refusal.code, code ?? '', refusal.code],
    ['status', status === undefined || status === refusal.status, String(status), String(refusal.status)],
    ['retry_after', wait === undefined || lengthMs(wait) === (retryAfterSeconds ?? -1) * 1000, wait ?? '', waited],
  ];
  return rows.flatMap(([member, holds, expected, found]) =>
    holds ? [] : [{ path: ['expect', 'refused', member], expected, came: found }],
  );
}

function compareVerdict({ name, verdict, reason }: GuardrailVerdict, { guardrails }: Came): readonly Unmet[] {
  const { findings, unasked } = guardrails;
  const place = ['expect', 'guardrail'];
  if (unasked.includes(name))
    throw new TestMistake(
      [...place, 'name'],
      `${JSON.stringify(name)} asks a service or a model, so its verdict is not known here`,
    );
  const finding = findings.find((each) => each.name === name && each.phase === 'input');
  const found = finding?.outcome ?? 'none';
  if (found !== verdict)
    return [
      {
        path: [...place, 'verdict'],
        expected: verdict,
        came: finding?.reason === undefined ? found : `${found} (${finding.reason})`,
      },
    ];
  if (reason !== undefined && finding?.reason !== reason)
    return [{ path: [...place, 'reason'], expected: reason, came: finding?.reason ?? 'no reason' }];
  return [];
}

/** Throws a `TestMistake` for a guardrail that the configuration does not have. */
export function checkGuardrailName({ expect: { guardrail } }: ConfigTest, known: readonly string[]): void {
  if (guardrail !== undefined && !known.includes(guardrail.name))
    throw unknownName(['expect', 'guardrail', 'name'], 'guardrail', guardrail.name, known);
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}
