// GET /v1/files, /v1/batches and /v1/messages/batches: what the caller's user path has at all providers, newest first. Nothing is counted.

import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Budgets } from '../budgets/budgets.ts';
import { type JsonObject, textOf } from '../dialects/json/json.ts';
import { refusal } from '../errors.ts';
import { type KeptThing, keptThings, usedBy } from '../opaque/doors/aim-home.ts';
import { type KeptPage, type ListParts, listKept } from '../opaque/doors/kept-lists.ts';
import type { Records } from '../records/records.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { chargeBatch } from '../stages/charge/charge-batch.ts';

/** Lists that are made at the same time; each may hold some megabytes. */
const mostAtOnce = 16;
const [defaultLimit, mostLimit] = [20, 100];
/** The providers of which something may be missing, separated by commas. */
const incompleteHeader = 'x-gateway-incomplete';

export interface KeptListParts extends ListParts {
  readonly budgets: Budgets;
  /** The snapshot in force. */
  readonly current: () => Snapshot;
  /** The records for audit and usage. */
  readonly records: Records;
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
  /** Tokens are counted. */
  readonly usageEnabled: boolean;
}

export const keptLists: FastifyPluginAsync<{ gateway: KeptListParts }> = async (app, { gateway }) => {
  let open = 0;

  async function list(thing: KeptThing, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { principal, raw, requestId, exchange } = request;
    const { url = '' } = raw;
    const query = new URLSearchParams(url.slice(url.indexOf('?') + 1 || url.length));
    const limit = limitIn(query);
    const isOfMessages = thing.kind === 'message_batch';
    refuseOrder(query);
    if (open >= mostAtOnce) throw refusal('overloaded', { headers: { 'retry-after': '1' } });
    open += 1;
    const seen = (record: JsonObject, provider: string): void => {
      if (thing.kind !== 'batch' || exchange === undefined || !gateway.usageEnabled) return;
      const read = { id: textOf(record['id']) ?? '', kind: thing.kind, used: usedBy(record), provider, status: 200 };
      void chargeBatch({ ...read, path: thing.path, exchange, principal }, gateway);
    };
    try {
      const page = await listKept(
        {
          thing,
          limit,
          after: query.get(isOfMessages ? 'after_id' : 'after') ?? undefined,
          purpose: query.get('purpose') ?? undefined,
          provider: query.get('provider') ?? undefined,
          principal,
          snapshot: gateway.current(),
          requestId,
          exchange: exchange ?? { head: { gatewayKey: undefined }, request: raw },
          seen,
        },
        gateway,
      );
      if (page.incomplete.length > 0) reply.header(incompleteHeader, page.incomplete.join(', '));
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(bodyOf(page, isOfMessages)));
    } finally {
      open -= 1;
    }
  }

  for (const thing of Object.values(keptThings)) {
    app.get(thing.path, (request, reply) => list(thing, request, reply));
  }
};

function bodyOf({ data, hasMore }: KeptPage, isOfMessages: boolean): object {
  const ends = { first_id: data[0]?.['id'] ?? null, last_id: data.at(-1)?.['id'] ?? null };
  return { ...(isOfMessages ? {} : { object: 'list' }), data, has_more: hasMore, ...ends };
}

function limitIn(query: URLSearchParams): number {
  const text = query.get('limit') ?? String(defaultLimit);
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > mostLimit) throw invalid('limit', `must be a whole number from 1 to ${mostLimit}`);
  return limit;
}

/** Refuses parameters that a list of several providers cannot serve. */
function refuseOrder(query: URLSearchParams): void {
  if (query.get('order') === 'asc') throw invalid('order', 'must be "desc": the newest comes first');
  if (query.has('before_id')) throw invalid('before_id', 'is not served; go on with "after_id"');
}

function invalid(name: string, problem: string): Error {
  return refusal('invalid_query', { param: name, fill: { name, problem } });
}
