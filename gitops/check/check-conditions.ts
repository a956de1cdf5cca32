// Checks of the conditions of aliases and of their targets: mistakes, and those that are the same for every request.
import { readCondition } from '../../domain/conditions/condition.ts';
import type { Path } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import { type AliasFindings, targetsOf, type WrittenAlias } from '../assemble/written-aliases.ts';

export function checkConditions(aliases: readonly WrittenAlias[], sources: Sources, findings: AliasFindings): void {
  aliases.forEach((alias, index) => {
    check(alias.when, ['aliases', index, 'when'], 'the alias');
    for (const { when, path } of targetsOf(alias, index)) check(when, [...path.slice(0, -1), 'when'], 'the target');
  });

  function check(when: string | undefined, path: Path, what: string): void {
    if (when === undefined || sources.isUnknown(path)) return;
    const { problem, foreseen } = { foreseen: undefined, ...readCondition(when) };
    if (problem !== undefined) findings.problems.push(sources.problem(path, problem));
    else if (foreseen === 'never')
      findings.problems.push(
        sources.problem(path, `is false for every request, so ${what} is never used; leave it out`),
      );
    else if (foreseen === 'always')
      findings.warnings.push(sources.problem(path, 'is true for every request; leave it out'));
  }
}
