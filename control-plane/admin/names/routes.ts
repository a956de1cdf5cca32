// GET /admin/names: names to fill in a field with, as an operator types.
import type { FastifyPluginAsync } from 'fastify';
import { foldUserPath } from '../../../domain/user-path.ts';
import type { RecordStore } from '../../../store/records/record-store.ts';
import type { Operator } from '../../authenticate.ts';
import { keysOf } from '../../managed/key-index.ts';
import { invalidQuery, readQuery } from '../../managed/read-query.ts';
import { readStored, staleHeader, unlessUnavailable } from '../../managed/read-stored.ts';
import type { BudgetParts } from '../budgets/parts.ts';
import { mergedRules } from '../rate-limits/merged-rules.ts';
import type { RateLimitParts } from '../rate-limits/resource.ts';
import { readChoice } from '../records/read-query.ts';
import { knownAliases, merged, type VirtualModelParts } from '../virtual-models/known.ts';
import { foundIn, knownNames, nameKinds } from './known-names.ts';

export interface NameRouteParts {
  readonly rules: Pick<RateLimitParts, 'store' | 'configRules' | 'prerequisites' | 'nowMs'>;
  readonly aliases: VirtualModelParts;
  readonly budgets: Pick<BudgetParts, 'configBudgets'>;
  /** Undefined while usage is not tracked. */
  records(): Pick<RecordStore, 'usageBy'> | undefined;
}

const mostNames = 30;
/** The user paths of so many days, those that spend most. */
const [seenMs, mostSeen] = [7 * 86_400_000, 500];

/** A scoped operator is told of its own subtree. */
export const nameRoutes: FastifyPluginAsync<{ readonly parts: NameRouteParts }> = async (app, { parts }) => {
  const { rules, aliases, budgets } = parts;

  app.get('/admin/names', { exposeHeadRoute: false }, async ({ query, operator }, reply) => {
    const given = readQuery(query, ['of', 'search']);
    if (given.of === undefined) throw invalidQuery('of', `is required: one of ${nameKinds.join(', ')}`);
    const kind = readChoice('of', given.of, nameKinds);
    const { state, isStale } = await readStored(rules.store);
    const nowMs = Math.floor(rules.nowMs());
    const known = knownAliases(aliases, state, nowMs);
    const sources = {
      offered: known.models.offered,
      aliases: merged(known)
        .filter(({ enforced }) => enforced)
        .map(({ alias }) => alias.source),
      rules: mergedRules({
        documents: state.documents,
        config: rules.configRules().rules,
        prerequisites: rules.prerequisites(),
        nowMs,
      }),
      budgets: budgets.configBudgets().budgets,
      keys: keysOf(state).newest(),
      seenPaths: kind === 'user_paths' ? await seenPaths(operator, nowMs) : [],
    };
    reply.headers({ 'cache-control': 'no-store', ...staleHeader(isStale) });
    return { names: foundIn(knownNames(kind, sources, operator), given.search ?? '', mostNames) };
  });

  async function seenPaths({ userPath }: Operator, nowMs: number): Promise<readonly string[]> {
    const span = { fromMs: nowMs - seenMs, toMs: nowMs + 1 };
    const filter = { span, userPath: foldUserPath(userPath), cacheMode: 'all' } as const;
    const found = await unlessUnavailable(
      parts.records()?.usageBy(filter, 'user_path', { limit: mostSeen, offset: 0 }) ?? Promise.resolve(undefined),
    );
    return (found?.rows ?? []).map(({ key }) => key);
  }
};
