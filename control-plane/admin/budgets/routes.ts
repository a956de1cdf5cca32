// The routes of /admin/budgets: list, put, delete, reset one, reset all, and when windows begin (reference: Budgets).
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { budgetTitle } from '../../../domain/budgets/budget.ts';
import { stateRevision } from '../../../schemas/state-revision.ts';
import { isInScope } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import { readQuery } from '../../managed/read-query.ts';
import { staleHeader } from '../../managed/read-stored.ts';
import { deleteBudget, putAnchors, putBudget, resetBudget, resetEveryBudget } from './changes.ts';
import {
  type BudgetConditions,
  type BudgetParts,
  type BudgetsAnswer,
  createBudgetWriter,
  type DecideBudgets,
  listBudgets,
  pathOfBudget,
  readAnchors,
} from './commit.ts';
import { delegatedBudget, delegatedBudgetRemoval, delegatedBudgetReset } from './delegation.ts';
import { readBudgetFilter } from './filter.ts';
import {
  type BudgetName,
  checkBudgetConfirmation,
  readBudgetDelete,
  readBudgetResetOne,
  readBudgetWrite,
  readSettingsWrite,
} from './read-write.ts';
import { budgetWriteFacts } from './write-facts.ts';

export interface BudgetOptions {
  readonly parts: BudgetParts;
  /** The name of the operator: `master_key`, or the id of a managed key. */
  readonly who: (request: FastifyRequest) => string;
}

/** A scoped operator sees and changes budgets within its user path only; the listing leaves out other budgets. */
export const budgets: FastifyPluginAsync<BudgetOptions> = async (app, { parts, who }) => {
  const write = createBudgetWriter(parts);
  const change = async (
    request: FastifyRequest,
    reply: FastifyReply,
    about: BudgetName | undefined,
    decide: DecideBudgets,
  ): Promise<object> => {
    let facts = {};
    const noting: DecideBudgets = (known) => {
      const changes = decide(known);
      facts = about === undefined ? {} : budgetWriteFacts(known, changes, about.key);
      return changes;
    };
    const body = show(reply, await write(noting, conditionsOf(request)));
    request.wrote(about === undefined ? 'every budget' : `budget ${budgetTitle(about)}`, facts);
    return body;
  };
  const config = { access: 'operator' } as const;
  const ofAll = { access: 'admin' } as const;

  app.get('/admin/budgets', { config }, async (request, reply) => {
    return show(reply, await listBudgets(parts, conditionsOf(request).canSee, readBudgetFilter(request.query)));
  });

  app.put('/admin/budgets', { config }, async (request, reply) => {
    const wanted = readBudgetWrite(request.body, parts.nowMs());
    if (!isVisible(request, wanted))
      throw refusal('admin_scope_denied', { fill: { what: 'change a budget outside of its user path' } });
    const { max_rules_per_scope: most } = parts.quotas();
    return change(request, reply, wanted, (known) =>
      putBudget(
        known,
        delegatedBudget(known, wanted, request.operator, most),
        who(request),
        parts.prerequisites().hasTemplates,
      ),
    );
  });

  app.delete('/admin/budgets', { config }, async (request, reply) => {
    const name = readBudgetDelete(request.body);
    if (!isVisible(request, name)) throw refusal('budget_not_found');
    return change(request, reply, name, (known) =>
      deleteBudget(known, delegatedBudgetRemoval(known, name, request.operator)),
    );
  });

  app.post('/admin/budgets/reset-one', { config }, async (request, reply) => {
    const name = readBudgetResetOne(request.body);
    if (!isVisible(request, name)) throw refusal('budget_not_found');
    return change(request, reply, name, (known) => resetBudget(known, delegatedBudgetReset(name, request.operator)));
  });

  app.post('/admin/budgets/reset', { config: ofAll }, async (request, reply) => {
    checkBudgetConfirmation(request.body);
    await change(request, reply, undefined, resetEveryBudget);
    return { status: 'ok' };
  });

  app.get('/admin/budgets/settings', { config }, async ({ query }, reply) => {
    readQuery(query, []);
    const { anchors, isStale } = await readAnchors(parts);
    reply.headers({ 'cache-control': 'no-store', ...staleHeader(isStale) });
    return anchors;
  });

  app.put('/admin/budgets/settings', { config: ofAll }, async (request, reply) => {
    const wanted = readSettingsWrite(request.body);
    const { anchors: before } = await readAnchors(parts);
    const { anchors, revision } = await write((known) => putAnchors(known, wanted), {
      ifMatch: undefined,
      canSee: () => false,
    });
    reply.headers({ 'cache-control': 'no-store', ...stateRevision(revision) });
    request.wrote('the windows of budgets', { before, after: anchors });
    return anchors;
  });
};

function conditionsOf({ headers, operator }: FastifyRequest): BudgetConditions {
  return { ifMatch: headers['if-match'], canSee: (userPath) => isInScope(operator, userPath) };
}

function isVisible({ operator }: FastifyRequest, name: BudgetName): boolean {
  return isInScope(operator, pathOfBudget(name));
}

/** Sets the entity tag of the budgets, for If-Match, and gives the body. */
function show(reply: FastifyReply, { body, etag, isStale, revision }: BudgetsAnswer): object {
  reply.headers({ etag, 'cache-control': 'no-store', ...staleHeader(isStale), ...stateRevision(revision) });
  return body;
}
