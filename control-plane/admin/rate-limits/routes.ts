// The routes of /admin/rate-limits: list, put, delete, reset one, reset all (spec, Endpoints).
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { ruleTitle } from '../../../domain/rules/rule.ts';
import { stateRevision } from '../../../schemas/state-revision.ts';
import { isInScope } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import { staleHeader } from '../../managed/read-stored.ts';
import { deleteRule, putRule, resetEveryRule, resetRule } from './changes.ts';
import {
  createWriter,
  type Decide,
  listRules,
  type RateLimitParts,
  type RulesAnswer,
  userPathOf,
  type WriteConditions,
} from './commit.ts';
import { delegatedRemoval, delegatedReset, delegatedWrite, refuseForeignModel } from './delegation.ts';
import { readListing } from './read-listing.ts';
import { checkConfirmation, type RuleName, readDelete, readResetOne, readWrite } from './read-write.ts';
import { writeFacts } from './write-facts.ts';

export interface RateLimitOptions {
  readonly parts: RateLimitParts;
  /** The name of the operator: `master_key`, or the id of a managed key. */
  readonly who: (request: FastifyRequest) => string;
}

/** A scoped operator sees and changes rules within its user path only; the listing leaves out other rules. */
export const rateLimits: FastifyPluginAsync<RateLimitOptions> = async (app, { parts, who }) => {
  const write = createWriter(parts);
  const change = async (
    request: FastifyRequest,
    reply: FastifyReply,
    about: RuleName | undefined,
    decide: Decide,
  ): Promise<object> => {
    refuseForeignModel(about, request.operator, parts.prerequisites().known);
    let facts = {};
    const noting: Decide = (known) => {
      const changes = decide(known);
      facts = about === undefined ? {} : writeFacts(known, changes, about.key, parts.prerequisites());
      return changes;
    };
    const body = await show(reply, write(noting, conditionsOf(request)));
    request.wrote(about === undefined ? 'every rule' : `rule ${ruleTitle(about)}`, facts);
    return body;
  };
  const config = { access: 'operator' } as const;

  app.get('/admin/rate-limits', { config }, async (request, reply) => {
    return show(reply, listRules(parts, conditionsOf(request).canSee, readListing(request.query)));
  });

  app.put('/admin/rate-limits', { config }, async (request, reply) => {
    const wanted = readWrite(request.body, parts.nowMs());
    if (!isVisible(request, wanted))
      throw refusal('admin_scope_denied', { fill: { what: 'change a rule outside of its user path' } });
    return change(request, reply, wanted, (known) =>
      putRule(
        known,
        delegatedWrite(known, wanted, request.operator, parts.quotas().max_rules_per_scope),
        who(request),
        parts.prerequisites().hasTemplates,
      ),
    );
  });

  app.delete('/admin/rate-limits', { config }, async (request, reply) => {
    const name = readDelete(request.body);
    if (!isVisible(request, name)) throw refusal('rate_limit_not_found');
    return change(request, reply, name, (known) => deleteRule(known, delegatedRemoval(known, name, request.operator)));
  });

  app.post('/admin/rate-limits/reset-one', { config }, async (request, reply) => {
    const name = readResetOne(request.body);
    if (!isVisible(request, name)) throw refusal('rate_limit_not_found');
    return change(request, reply, name, (known) => resetRule(known, delegatedReset(name, request.operator)));
  });

  app.post('/admin/rate-limits/reset', { config: { access: 'admin' } }, async (request, reply) => {
    checkConfirmation(request.body);
    await change(request, reply, undefined, resetEveryRule);
    return { status: 'ok' };
  });
};

function conditionsOf({ headers, operator }: FastifyRequest): WriteConditions {
  return { ifMatch: headers['if-match'], canSee: (userPath) => isInScope(operator, userPath) };
}

function isVisible({ operator }: FastifyRequest, name: RuleName): boolean {
  return isInScope(operator, userPathOf(name));
}

/** Sets the entity tag of the rules, for If-Match, and gives the body. */
async function show(reply: FastifyReply, asked: Promise<RulesAnswer>): Promise<object> {
  const { body, etag, isStale, revision } = await asked;
  reply.headers({ etag, 'cache-control': 'no-store', ...staleHeader(isStale), ...stateRevision(revision) });
  return body;
}
