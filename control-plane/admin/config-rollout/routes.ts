// The rollout of the configuration: GET shows it, PUT ends it before its time: /admin/config/rollout.
import type { FastifyPluginAsync } from 'fastify';
import { endedBy } from '../../../domain/config-rollouts/next-state.ts';
import { bodies } from '../../../schemas/validation/generated/bodies.js';
import { who } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import type { Fleet } from '../../fleet.ts';
import { createBodyReader, invalid } from '../../managed/read-body.ts';
import { readQuery } from '../../managed/read-query.ts';
import { FilesUnknown, type RolloutKeeper } from '../../rollout/keep-rollout.ts';
import { describeRollout } from './describe.ts';

export interface ConfigRolloutParts {
  readonly keeper: Pick<RolloutKeeper, 'view' | 'change'>;
  readonly fleet: Pick<Fleet, 'refresh'>;
}

const readBody = createBodyReader(bodies.configRolloutWrite);
const noStore = { 'cache-control': 'no-store' };

export const configRolloutRoutes: FastifyPluginAsync<{ readonly parts: ConfigRolloutParts }> = async (
  app,
  { parts: { keeper, fleet } },
) => {
  app.get('/admin/config/rollout', async ({ query }, reply) => {
    readQuery(query, []);
    await fleet.refresh().catch(() => undefined);
    void reply.headers(noStore);
    return describeRollout(keeper.view());
  });

  app.put('/admin/config/rollout', async (request, reply) => {
    const { phase, reason } = readBody(request.body);
    if (phase === 'aborted' && reason === undefined) throw invalid('reason', 'is missing; say why it is aborted');
    const end = { phase, reason, by: who(request) };
    const isChanged = await keeper
      .change((stored) => {
        const { own, nowMs } = keeper.view();
        return endedBy(stored, end, { own, nowMs });
      })
      .catch((error: unknown) => {
        throw error instanceof FilesUnknown
          ? refusal('config_rollout_not_ready', { fill: { problem: error.message } })
          : error;
      });
    if (!isChanged) throw refusal('no_config_rollout', { fill: { done: phase } });
    const after = describeRollout(keeper.view());
    const { phase: now, revision, former_revision } = after;
    request.wrote('rollout of the configuration', { phase: now, revision, former_revision, reason: reason ?? null });
    void reply.headers(noStore);
    return after;
  });
};
