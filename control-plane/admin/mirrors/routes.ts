// The route of /admin/mirrors: how the answers of mirrors compare with those that clients got.
import type { FastifyPluginAsync } from 'fastify';
import { spanOf } from '../../../domain/records/buckets.ts';
import { dollars } from '../../../domain/records/dollars.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { ComparedSide, MirrorPair } from '../../../store/records/record-store.ts';
import { nothingRecorded, type ReadableRecords } from '../records/nothing-recorded.ts';
import { dayNames, describeDays, readDays } from '../records/read-days.ts';
import { readFilled } from '../records/read-query.ts';
import { describeTimes } from '../records/times.ts';
import { storeRefusal } from '../store-refusal.ts';

export interface MirrorRouteParts {
  /** Undefined while nothing is recorded. */
  records(): Pick<ReadableRecords, 'mirrors'> | undefined;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

export const mirrorRoutes: FastifyPluginAsync<{ readonly parts: MirrorRouteParts }> = async (app, { parts }) => {
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'));
  app.setErrorHandler((error) => {
    throw storeRefusal(error, 'record store');
  });
  app.get('/admin/mirrors', { exposeHeadRoute: false }, async ({ query, headers }) => {
    const days = readDays(readFilled(query, dayNames), headers, parts.nowMs());
    const { pairs, isTruncated } = await (parts.records() ?? nothingRecorded).mirrors(spanOf(days));
    return { ...describeDays(days), mirrors: pairs.map(describePair), truncated: isTruncated };
  });
};

function describePair({ alias, requests, firstMs, lastMs, primary, mirror, compared, similarity }: MirrorPair): object {
  return {
    alias,
    requests,
    first_at: timestamp(firstMs),
    last_at: timestamp(lastMs),
    primary: describeSide(primary, requests),
    mirror: describeSide(mirror, requests),
    compared,
    ...(similarity === undefined ? {} : { similarity }),
  };
}

function describeSide({ model, succeeded, cost, ...side }: ComparedSide, requests: number): object {
  return {
    model,
    succeeded,
    success_rate: succeeded / requests,
    ...describeTimes(side),
    input_tokens: side.inputTokens,
    output_tokens: side.outputTokens,
    total_cost: dollars(cost),
    unpriced_requests: side.unpriced,
  };
}
