// Names of models and aliases that are almost the one that was asked for.
import { nearness } from '../../schemas/validation/nearness.ts';
import { visibleRoute } from '../stages/resolve.ts';
import type { NearMiss } from './explanation.ts';
import { differences } from './near-rules.ts';
import { type ExplainSources, type Question, sees } from './question.ts';
import { aliasSource, type Resolved } from './resolution.ts';

/**
 * Aliases of that very name which do not count, then names that are spelled alike: any when the name leads nowhere, else those that differ
 * in letter case or separators. An operator of a part of the gateway gets only what the user path may use.
 */
export function nearNames(resolved: Resolved, question: Question, parts: ExplainSources, most: number): NearMiss[] {
  const found = sees(question, undefined) ? uncounted(resolved, question, parts) : [];
  for (const name of parts.snapshot.routes.keys()) {
    if (found.length >= most) break;
    const near = nearness(name, question.model);
    if (near === undefined || (near === 'spelling' && resolved.route !== undefined)) continue;
    if (!sees(question, undefined) && visibleRoute(parts.snapshot, name, resolved.facts) === undefined) continue;
    found.push({ kind: 'model', name, reason: near, says: `it ${differences[near]}` });
  }
  return found;
}

function uncounted({ hidden }: Resolved, { model }: Question, { inForce }: ExplainSources): NearMiss[] {
  const others = hidden.map(({ source: name, reason }): NearMiss => {
    const says =
      reason === 'alias_condition_false' ? 'its condition is false for this request' : 'it is for other user paths';
    return { kind: 'alias', name, reason, says, ...aliasSource(name, inForce) };
  });
  const idle = inForce.aliases.flatMap(({ alias, enforced, problem, manual }): NearMiss[] => {
    if (alias.source !== model || (enforced && alias.enabled)) return [];
    const origin =
      manual === undefined
        ? aliasSource(model, inForce)
        : ({ source: 'manual', updated_by: manual.updatedBy } as const);
    const missed = { kind: 'alias', name: model, ...origin } as const;
    return enforced
      ? [{ ...missed, reason: 'alias_disabled', says: 'it is not enabled' }]
      : [{ ...missed, reason: 'alias_not_in_force', says: `it is not in force: ${problem ?? 'it leads nowhere'}` }];
  });
  return [...others, ...idle];
}
