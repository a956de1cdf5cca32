// All routes under /admin/config: what is in force, what differs in git and on disk, what is pinned, and what is rolled out.
import type { FastifyPluginAsync } from 'fastify';
import type { RevisionStore } from '../../../../store/records/kept-revisions.ts';
import { filesInForce } from '../../../files-in-force.ts';
import { managedRoutes } from '../../../managed/routes.ts';
import { pinnableRevisions } from '../../config-pin/kept-revisions.ts';
import type { PinParts } from '../../config-pin/resource.ts';
import { configPinResource } from '../../config-pin/resource.ts';
import { type ConfigRolloutParts, configRolloutRoutes } from '../../config-rollout/routes.ts';
import type { DriftParts } from '../../drift/describe.ts';
import { driftRoutes } from '../../drift/routes.ts';
import { type ConfigRouteParts, configRoutes } from '../routes.ts';

export interface AllConfigParts
  extends DriftParts,
    PinParts,
    Pick<ConfigRolloutParts, 'keeper'>,
    Pick<ConfigRouteParts, 'differences' | 'revisions' | 'secrets'> {
  readonly config: DriftParts['config'] & ReturnType<ConfigRouteParts['inForce']>;
  readonly fleet: PinParts['fleet'];
  readonly status: PinParts['status'];
  readonly nowMs: () => number;
  readonly records: RevisionStore;
}

export const allConfigRoutes: FastifyPluginAsync<{ parts: AllConfigParts }> = async (app, { parts }) => {
  const { config, differences } = parts;
  await app.register(configRoutes, { parts: { ...parts, inForce: () => config } });
  await app.register(driftRoutes, { parts });
  const { settings, ownFolder } = differences;
  const revisions = pinnableRevisions(parts.records, parts.status, {
    inForce: (revision) => filesInForce(settings.configDirectory, ownFolder, revision),
    secrets: parts.secrets,
  });
  await app.register(managedRoutes(configPinResource(revisions)), { parts });
  await app.register(configRolloutRoutes, { parts });
};
