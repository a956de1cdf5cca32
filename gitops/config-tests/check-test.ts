// What a schema cannot say about a test: members that need or exclude each other.
import { normaliseUserPath } from '../../domain/user-path.ts';
import type { ConfigTest, UsedBefore } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import type { Problem } from '../read/problem.ts';
import type { PlacedTest } from './placed-test.ts';

type Mistake = readonly [path: Path, message: string];

export function problemsOfTest({ test, problemAt }: PlacedTest): readonly Problem[] {
  return [...mistakesOfGiven(test), ...mistakesOfExpected(test)].map(([path, message]) => problemAt(path, message));
}

function mistakesOfGiven({ given }: ConfigTest): readonly Mistake[] {
  const { key, labels, claims, identity, user_path: userPath, used_before: used = [] } = given;
  const rules: readonly (readonly [isWrong: boolean, ...Mistake])[] = [
    [
      key !== undefined && labels !== undefined,
      ['given', 'labels'],
      'has no meaning with key: labels are those of the key',
    ],
    [
      key !== undefined && claims !== undefined,
      ['given', 'claims'],
      'has no meaning with key: a request shows one of both',
    ],
    [
      labels !== undefined && claims !== undefined,
      ['given', 'labels'],
      'has no meaning with claims: labels follow from them',
    ],
    [identity !== undefined && claims === undefined, ['given', 'identity'], 'has no meaning without claims'],
  ];
  return [
    ...rules.flatMap(([isWrong, path, message]): Mistake[] => (isWrong ? [[path, message]] : [])),
    ...pathMistakes(userPath, ['given', 'user_path']),
    ...used.flatMap((each, index) => mistakesOfUsed(each, ['given', 'used_before', index])),
  ];
}

function mistakesOfUsed(used: UsedBefore, place: Path): readonly Mistake[] {
  const { requests, tokens, in_flight: inFlight, spent, rule, budget } = used;
  const counts = [requests, tokens, inFlight].some((each) => each !== undefined);
  const found: Mistake[] = [];
  if (!counts && spent === undefined)
    found.push([place, 'says nothing that was used: name requests, tokens, in_flight or spent']);
  if (rule !== undefined && spent !== undefined)
    found.push([[...place, 'spent'], 'is what budgets count: name a budget, or no rule']);
  if (budget !== undefined && counts) found.push([[...place, 'budget'], 'counts money alone: name what was spent']);
  return [...found, ...pathMistakes(used.user_path, [...place, 'user_path'])];
}

function mistakesOfExpected({ given, expect }: ConfigTest): readonly Mistake[] {
  const { admitted, refused, targets, guardrail, price } = expect;
  const { tokens, text } = given;
  const rules: readonly (readonly [isWrong: boolean, ...Mistake])[] = [
    [admitted === true && refused !== undefined, ['expect', 'refused'], 'contradicts admitted: true'],
    [
      refused !== undefined && targets !== undefined,
      ['expect', 'targets'],
      'contradicts refused: nothing is asked then',
    ],
    [refused !== undefined && price !== undefined, ['expect', 'price'], 'contradicts refused: it costs nothing then'],
    [price !== undefined && tokens === undefined, ['expect', 'price'], 'needs given.tokens'],
    [
      guardrail !== undefined && text === undefined,
      ['expect', 'guardrail'],
      'needs given.text, at which guardrails look',
    ],
  ];
  return rules.flatMap(([isWrong, path, message]): Mistake[] => (isWrong ? [[path, message]] : []));
}

function pathMistakes(userPath: string | undefined, place: Path): readonly Mistake[] {
  const { problem } = userPath === undefined ? { problem: undefined } : normaliseUserPath(userPath);
  return problem === undefined ? [] : [[place, problem]];
}
