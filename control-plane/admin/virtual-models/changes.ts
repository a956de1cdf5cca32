// Decides what a write changes in the store: whether the alias can be used, and its document. Pure.
import { findBadChains } from '../../../domain/aliases/chains.ts';
import { createFlattener } from '../../../domain/aliases/flatten.ts';
import { aliasKey } from '../../../domain/aliases/manual-alias.ts';
import { aliasesInForce, type MergedAlias, sayPlainly } from '../../../domain/aliases/merge-aliases.ts';
import {
  complete,
  conditionsIn,
  mirrorProblem,
  mostConditions,
  mostFamilyNames,
  mostLeaves,
  targetProblem,
} from '../../../domain/aliases/mistakes.ts';
import { NameTable, nameInFamily } from '../../../domain/aliases/name-table.ts';
import { manualAliases } from '../../../domain/documents/kinds.ts';
import { removed } from '../../../domain/documents/managed-kind.ts';
import type { Alias } from '../../../schemas/types.ts';
import { closest } from '../../../schemas/validation/suggest.ts';
import type { Change } from '../../../store/state/state-store.ts';
import { refusal } from '../../errors.ts';
import { jsonWording } from '../../managed/json-wording.ts';
import { refuseMore, refuseUnset, writtenEntry } from '../../managed/known.ts';
import { longestDocumentBytes } from '../../managed/quotas.ts';
import { invalid } from '../../managed/read-body.ts';
import { knownAfter } from '../../managed/resource.ts';
import { type KnownAliases, merged } from './known.ts';
import type { AliasWrite, NamedAlias } from './read-write.ts';

/** With more, each change of one takes too long in every proxy. */
const mostManual = 1_000;

/** The change that creates or replaces the alias of an operator. Throws 400 naming the member, and 409 when there are too many. */
export function putAlias(known: KnownAliases, write: AliasWrite, by: string): Change {
  const { key } = write;
  refuseMore(known, key, mostManual, 'too_many_virtual_models');
  const before = known.manual.get(key)?.value ?? known.config.get(key);
  const alias: Alias = { ...write.alias, enabled: write.enabled ?? before?.enabled ?? true };
  checkAlias(known, alias, write);
  return writtenEntry(known, manualAliases, { key, value: alias, by }, (bytes) => [
    'targets',
    `and the other members take ${bytes} bytes, and a virtual model may take ${longestDocumentBytes}`,
  ]);
}

/**
 * The change that removes the alias of an operator; one of the configuration with the same source is in force again. Throws 404
 * `virtual_model_not_found`, 409 `virtual_model_config_owned` naming where it is declared, and 409 `virtual_model_in_use` when others would
 * lose a target.
 */
export function deleteAlias(known: KnownAliases, { key, source }: NamedAlias): Change {
  const codes = { configOwned: 'virtual_model_config_owned', notFound: 'virtual_model_not_found' } as const;
  refuseUnset(known, key, codes, { name: known.config.get(key)?.source ?? source });
  const change = removed(manualAliases, key);
  const problemsOf = (rows: readonly MergedAlias[]): Map<string, string | undefined> =>
    new Map(rows.map((row) => [row.key, row.problem]));
  const before = problemsOf(merged(known));
  const losing = [...problemsOf(merged(knownAfter(known, manualAliases, [change])))].filter(
    ([each, problem]) => problem !== undefined && problem !== before.get(each),
  );
  if (losing.length > 0) {
    const users = losing.slice(0, 10).map(([each]) => JSON.stringify(known.manual.get(each)?.value.source ?? each));
    throw refusal('virtual_model_in_use', { fill: { source, users: users.join(', ') } });
  }
  return change;
}

const guess = (word: string, candidates: Iterable<string>): string => {
  const meant = closest(word, candidates);
  return meant === undefined ? '' : jsonWording.guess(meant);
};

/** Throws 400 naming the member of an alias that could not be used beside the aliases in force. */
function checkAlias(known: KnownAliases, alias: Alias, { key, memberOf }: AliasWrite): void {
  const others = aliasesInForce(merged(known)).filter(({ source }) => aliasKey(source) !== key);
  const table = new NameTable([alias, ...others], known.models);
  alias.targets.forEach(({ model }, index) => {
    const problem = targetProblem(alias, model, { table, guess, has: complete });
    if (problem !== undefined) throw invalid(memberOf(index), `cannot be used: ${problem}`);
  });
  const mirror = alias.mirror && mirrorProblem(alias.mirror.target, { table, guess, has: complete });
  if (mirror !== undefined) throw invalid('mirror.target', `cannot be used: ${mirror}`);
  const [chain] = findBadChains([alias, ...others], table);
  if (chain !== undefined) throw invalid(memberOf(chain.target), `cannot be used: ${sayPlainly(chain)}`);
  let names = 0;
  let most = 0;
  let conditions = 0;
  const flatten = createFlattener(table);
  const note = (each: Parameters<typeof flatten>[0] | undefined): void => {
    const flattened = each && flatten(each);
    if (flattened === undefined) return;
    most = Math.max(most, flattened.leaves.length);
    conditions = Math.max(conditions, conditionsIn(flattened));
  };
  note(alias);
  for (const { family, models } of table.families()) {
    names += models.size;
    if (family === alias) for (const model of models) note(table.memberOf(nameInFamily(family, model)));
  }
  // With discovered models there may be a second one.
  const needy = alias.hedge ? 'hedge' : alias.rescue && 'rescue';
  if (needy !== undefined && most < 2 && !table.models.discovering.size)
    throw invalid(needy, 'needs two targets, and the virtual model leads to one');
  if (most > mostLeaves) throw invalid(memberOf(0), `leads to ${most} models; at most ${mostLeaves} are supported`);
  if (conditions > mostConditions)
    throw invalid('targets', `lead through ${conditions} conditions; at most ${mostConditions} are supported`);
  if (names > mostFamilyNames)
    throw invalid(
      'source',
      `is a family: all together would stand for ${names} names, at most ${mostFamilyNames} are supported`,
    );
}
