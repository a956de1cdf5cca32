// All routes that read the record store: audit, usage and the live stream.
import type { FastifyPluginAsync } from 'fastify';
import type { RecordStore } from '../../../store/records/record-store.ts';
import { auditRoutes } from '../audit/routes.ts';
import { type LiveParts, liveRoutes } from '../live/routes.ts';
import { usageRoutes } from '../usage/routes.ts';

export interface RecordRouteParts extends Omit<LiveParts, 'records'> {
  readonly store: RecordStore;
}

/** What was recorded is shown, whether more is recorded now or not. */
export const recordRoutes: FastifyPluginAsync<{ readonly parts: RecordRouteParts }> = async (app, { parts }) => {
  const { store, ...others } = parts;
  const readable = { ...others, records: () => store };
  await app.register(auditRoutes, { parts: readable });
  await app.register(usageRoutes, { parts: readable });
  await app.register(liveRoutes, { parts: readable });
};
