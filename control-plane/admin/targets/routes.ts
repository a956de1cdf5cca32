// The route GET /admin/targets: breakers, speed, calls and learned limits of targets, as the live proxies see them.
import type { FastifyPluginAsync } from 'fastify';
import type { Fleet } from '../../fleet.ts';
import { readQuery } from '../../managed/read-query.ts';
import { targetListing } from './listing.ts';

export interface TargetParts {
  readonly fleet: Pick<Fleet, 'refresh' | 'proxies'>;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

/** Answers with `schemas/admin/targets.schema.json`. While the store is down, with the last heartbeats for as long as they live. */
export const targets: FastifyPluginAsync<{ parts: TargetParts }> = async (app, { parts: { fleet, nowMs } }) => {
  app.get('/admin/targets', { config: { access: 'admin' } }, async ({ query }, reply) => {
    readQuery(query, []);
    await fleet.refresh().catch(() => undefined);
    void reply.header('cache-control', 'no-store');
    return targetListing(fleet.proxies(), nowMs());
  });
};
