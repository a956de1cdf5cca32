// Decides what a write changes in the store: whether the alias can be used, and its document. Pure.
import { findBadChains } from '../../../domain/aliases/chains.ts';
import { createFlattener } from '../../../domain/aliases/flatten.ts';
import { aliasKey } from '../../../domain/aliases/manual-alias.ts';
import { aliasesInForce, type MergedAlias, sayPlainly } from '../../../domain/aliases/merge-aliases.ts';
import { complete, mostFamilyNames, mostLeaves, targetProblem } from '../../../domain/aliases/mistakes.ts';
import { NameTable } from '../../../domain/aliases/name-table.ts';
import { manualAliases } from '../../../domain/documents/kinds.ts';
import { removed, written } from '../../../domain/documents/managed-kind.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { Alias } from '../../../schemas/types.ts';
import { closest } from '../../../schemas/validation/suggest.ts';
import type { Change } from '../../../store/state/state-store.ts';
import { refusal } from '../../errors.ts';
import { jsonWording } from '../../managed/json-wording.ts';
import { longestDocumentBytes } from '../../managed/quotas.ts';
import { invalid } from '../../managed/read-body.ts';
import { type KnownAliases, merged } from './known.ts';
import type { AliasWrite } from './read-write.ts';

/** With more, each change of one takes too long in every proxy. */
const mostManual = 1_000;

/** Creates or replaces the alias of an operator. Throws 400 naming the member, and 409 when there are too many. `by` names the operator. */
export function putAlias(known: KnownAliases, write: AliasWrite, by: string): Change[] {
  const { key } = write;
  const before = known.manual.get(key);
  const declared = known.config.find(({ source }) => aliasKey(source) === key);
  const count = known.manual.size + known.unreadable.size;
  if (before === undefined && !known.unreadable.has(key) && count >= mostManual)
    throw refusal('too_many_virtual_models', { fill: { count, limit: mostManual } });
  const alias: Alias = { ...write.alias, enabled: write.enabled ?? before?.alias.enabled ?? declared?.enabled ?? true };
  checkAlias(known, alias, write);
  const now = timestamp(known.nowMs);
  const next = { key, alias, createdAt: before?.createdAt ?? now, updatedAt: now, updatedBy: by };
  const change = written(manualAliases, key, next);
  const bytes = Buffer.byteLength(JSON.stringify(change.body));
  if (bytes > longestDocumentBytes)
    throw invalid(
      'targets',
      `and the other members take ${bytes} bytes, and a virtual model may take ${longestDocumentBytes}`,
    );
  return [change];
}

/**
 * Removes the alias of an operator; one of the configuration with the same source is in force again. Throws 404
 * `virtual_model_not_found`, 409 `virtual_model_config_owned` naming where it is declared, and 409 `virtual_model_in_use` when others would
 * lose a target.
 */
export function deleteAlias(known: KnownAliases, source: string, places: ReadonlyMap<string, string>): Change[] {
  const key = aliasKey(source);
  if (!known.manual.has(key) && !known.unreadable.has(key)) {
    const declared = known.config.find((each) => aliasKey(each.source) === key);
    if (declared === undefined) throw refusal('virtual_model_not_found', { fill: { source } });
    const place = places.get(declared.source) ?? 'the configuration';
    throw refusal('virtual_model_config_owned', { fill: { source: declared.source, place } });
  }
  const manual = new Map(known.manual);
  manual.delete(key);
  const problemsOf = (rows: readonly MergedAlias[]): Map<string, string | undefined> =>
    new Map(rows.map((row) => [row.key, row.problem]));
  const before = problemsOf(merged(known));
  const losing = [...problemsOf(merged({ ...known, manual }))].filter(
    ([each, problem]) => problem !== undefined && problem !== before.get(each),
  );
  if (losing.length > 0) {
    const users = losing.slice(0, 10).map(([each]) => JSON.stringify(known.manual.get(each)?.alias.source ?? each));
    throw refusal('virtual_model_in_use', { fill: { source, users: users.join(', ') } });
  }
  return [removed(manualAliases, key)];
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
  const [chain] = findBadChains([alias, ...others], table);
  if (chain !== undefined) throw invalid(memberOf(chain.target), `cannot be used: ${sayPlainly(chain)}`);
  let names = 0;
  let most = 0;
  const flatten = createFlattener(table);
  const note = (each: Parameters<typeof flatten>[0] | undefined): void => {
    most = Math.max(most, (each && flatten(each)?.leaves.length) ?? 0);
  };
  note(alias);
  for (const { family, names: all } of table.families()) {
    names += all.length;
    if (family === alias) for (const name of all) note(table.memberOf(name));
  }
  // With discovered models there may be a second one.
  if (alias.hedge && most < 2 && !table.models.discovering.size)
    throw invalid('hedge', 'needs two targets, and the virtual model leads to one');
  if (most > mostLeaves) throw invalid(memberOf(0), `leads to ${most} models; at most ${mostLeaves} are supported`);
  if (names > mostFamilyNames)
    throw invalid(
      'source',
      `is a family: all together would stand for ${names} names, at most ${mostFamilyNames} are supported`,
    );
}
