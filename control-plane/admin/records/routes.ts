// All routes that read the record store: audit, usage, mirrors and the live stream.
import type { FastifyPluginAsync } from 'fastify';
import type { Log } from '../../../plane/log-events.ts';
import type { RecordStore } from '../../../store/records/record-store.ts';
import type { AccessParts } from '../../authenticate.ts';
import { auditRoutes } from '../audit/routes.ts';
import { liveRoutes } from '../live/routes.ts';
import { mirrorRoutes } from '../mirrors/routes.ts';
import { type TrafficRouteParts, trafficRoutes } from '../traffic/routes.ts';
import { usageRoutes } from '../usage/routes.ts';

export interface RecordRouteParts extends Pick<TrafficRouteParts, 'sample' | 'around'> {
  readonly store: RecordStore;
  readonly access: Pick<AccessParts, 'credentials' | 'nowMs'>;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  readonly log: Log;
}

/** Shows the records, also while nothing more is recorded. */
export const recordRoutes: FastifyPluginAsync<{ readonly parts: RecordRouteParts }> = async (app, { parts }) => {
  const { store, access, nowMs, log, sample, around } = parts;
  const readable = {
    records: () => store,
    nowMs,
    access,
    report: (error: Error) => log.warn({ err: error }, 'the live stream cannot be read'),
  };
  await app.register(auditRoutes, { parts: readable });
  await app.register(usageRoutes, { parts: readable });
  await app.register(mirrorRoutes, { parts: readable });
  await app.register(trafficRoutes, { parts: { ...readable, sample, around } });
  await app.register(liveRoutes, { parts: readable });
};
