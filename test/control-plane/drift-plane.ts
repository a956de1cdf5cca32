// The routes of drift over a real socket, for a stand whose proxies send what a test says.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { driftRoutes } from '../../control-plane/admin/drift/routes.ts';
import { createFleet } from '../../control-plane/fleet.ts';
import { createServer } from '../../control-plane/server.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import type { FollowStatus } from '../../gitops/follow/config-status.ts';
import { hashOf, revisionOf, type SourceFile } from '../../gitops/read/read.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import type { HeartbeatBody } from '../../store/state/heartbeat-body.ts';
import { sampleHeartbeat } from '../support/managed-state.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';
import { nowMs, type Stored, standOf } from './drift-stand.ts';

export const masterKey = 'sk-test-master-key-0123456789';

export interface PlaneOptions {
  readonly files: readonly SourceFile[];
  readonly sets?: readonly Stored[];
  /** By instance. */
  readonly proxies?: Readonly<Record<string, Partial<HeartbeatBody>>>;
  readonly secrets?: readonly string[];
  readonly rejected?: Pick<FollowStatus, 'rejected' | 'problems'>;
}

/** `files`: in force in the control plane. */
export async function startDriftPlane(
  t: Teardown,
  { files, sets = [], proxies = {}, rejected, secrets = [] }: PlaneOptions,
) {
  const directory = temporaryDirectory(t, 'drift-plane');
  for (const { name, bytes } of files) writeFileSync(join(directory, name), bytes);
  const { parts, state } = standOf(files, sets);
  const clock = { nowMs };
  const revision = revisionOf(hashOf(files, []));
  const desired = () => ({ configRevision: revision, stateRevision: 0, environment: 'e' });
  const beats = { of: proxies };
  const heartbeats = async () =>
    Object.entries(beats.of).map(([instance, more]) => {
      const body = sampleHeartbeat({ config_revision: revision, ...more });
      return { instance, atMs: clock.nowMs - 100, body };
    });
  const fleet = createFleet({ heartbeats }, desired, () => clock.nowMs);
  const app = createServer({
    logger: { error: (...said: unknown[]) => process.stderr.write(`${JSON.stringify(said)}\n`), info: () => undefined },
    metrics: { contentType: 'text/plain', text: async () => '' },
    access: {
      credentials: () => credentialsOf(digestOf(masterKey), []),
      failedLogins: createFailedLogins(),
      masterKey,
      nowMs: () => clock.nowMs,
    },
    readiness: () => ({ status: 'ready', reasons: [] }),
  });
  const status = (): FollowStatus =>
    ({
      revision,
      source: 'directory',
      lastSuccessMs: nowMs - 3_600_000,
      lastReloadSuccessful: rejected === undefined,
      problems: [],
      ...rejected,
    }) as unknown as FollowStatus;
  const store = { read: async () => state, inForce: () => state };
  const rules = { ...parts.rules, store } as unknown as typeof parts.rules;
  const settings = { configDirectory: directory, entitlements: new Set(['quota_templates']), variables: {} };
  await app.register(driftRoutes, {
    parts: {
      ...parts,
      rules,
      fleet,
      desired,
      status,
      differences: { settings, ownFolder: directory, status },
      secrets: () => secrets,
      nowMs: () => clock.nowMs,
    },
  });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const ask = async (path: string): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${address}/admin/config/${path}`, {
      headers: { authorization: `Bearer ${masterKey}` },
    });
    return (await answer.json()) as Record<string, unknown>;
  };
  return { address, ask, clock, beats, revision };
}
