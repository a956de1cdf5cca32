// Decides which aliases an operator may write whose own key is limited to some models: what the name stood for and what it is to stand for
// must lie within them, because an alias holds for every caller. Pure.
import { aliasKey } from '../../../domain/aliases/manual-alias.ts';
import { aliasesInForce } from '../../../domain/aliases/merge-aliases.ts';
import { NameTable } from '../../../domain/aliases/name-table.ts';
import { manualAliases } from '../../../domain/documents/kinds.ts';
import { allowsTarget } from '../../../domain/keys/model-access.ts';
import { foldCase, isQualified } from '../../../domain/selector.ts';
import type { Change } from '../../../store/state/state-store.ts';
import { isScoped, type Operator } from '../../authenticate.ts';
import { beyondModels, isRestricted, reaches } from '../../managed/reach.ts';
import { knownAfter } from '../../managed/resource.ts';
import { type KnownAliases, merged } from './known.ts';

/**
 * The changes, when this operator may make them. Throws 403 `admin_scope_denied` naming the first model that the name `source` leads to
 * before or after them, and that the operator's own key may not use.
 */
export function delegatedAlias(
  known: KnownAliases,
  source: string,
  changes: readonly Change[],
  operator: Operator,
): readonly Change[] {
  if (!isScoped(operator) && !isRestricted(operator)) return changes;
  for (const each of [known, knownAfter(known, manualAliases, changes)]) {
    const foreign = foreignLead(each, source, operator);
    if (foreign !== undefined) throw beyondModels(`change where ${JSON.stringify(source)} leads: ${foreign}`, 'source');
  }
  return changes;
}

/** The first thing that the name leads to and the operator may not use; undefined: there is none. */
function foreignLead(known: KnownAliases, source: string, operator: Operator): string | undefined {
  const enabled = aliasesInForce(merged(known)).filter((alias) => alias.enabled);
  const table = new NameTable(enabled, known.models);
  const providers = new Set([...known.models.offered.keys()].map(foldCase));
  const discovering = new Set([...known.models.discovering].map(foldCase));
  const names = { providers, aliases: new Set(enabled.map((each) => aliasKey(each.source))) };
  const seen = new Set<string>();

  function follow(name: string): string | undefined {
    if (seen.has(name)) return undefined;
    seen.add(name);
    const alias = enabled.find((each) => aliasKey(each.source) === aliasKey(name));
    const lead = alias === undefined ? table.leadOf(name) : { alias };
    if (lead === undefined) return undiscovered(name);
    if (lead.alias === undefined) return lead.models.map(foreignModel).find(Boolean) ?? undiscovered(name);
    for (const { model } of lead.alias.targets) {
      const foreign = follow(model);
      if (foreign !== undefined) return foreign;
    }
    return undefined;
  }
  function foreignModel({
    provider,
    model,
  }: {
    readonly provider: string;
    readonly model: string;
  }): string | undefined {
    const access = operator.key?.modelAccess;
    const isOwn = access === undefined || allowsTarget(access, provider, model, providers);
    return isOwn ? undefined : `${provider}/${model}`;
  }
  /** A family has every model under its prefix; and what providers have that are asked for their models is not known here. */
  function undiscovered(name: string): string | undefined {
    const mayBeBare = !isQualified(name, providers) && discovering.size > 0;
    const isOpen = name.includes('*') || mayBeBare || isQualified(name, discovering);
    return isOpen && !reaches(operator, name, names) ? name : undefined;
  }
  const mirror = enabled.find((each) => aliasKey(each.source) === aliasKey(source))?.mirror;
  return follow(source) ?? (mirror && follow(mirror.target));
}
