// The revisions of a directory that is followed, over a real record store, with their routes. Heartbeats are what a test says.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { revisionRoutes } from '../../../control-plane/admin/config/revisions/routes.ts';
import { readEnvironment } from '../../../control-plane/environment.ts';
import type { HeardProxy } from '../../../control-plane/revisions/note-verdicts.ts';
import { openRevisions, type Revisions } from '../../../control-plane/revisions/open-revisions.ts';
import { createServer } from '../../../control-plane/server.ts';
import { credentialsOf } from '../../../domain/keys/credentials.ts';
import { digestOf } from '../../../domain/keys/secret.ts';
import { type Follower, followConfig } from '../../../gitops/follow/follow.ts';
import { defaultConfig } from '../../../gitops/read/validate.ts';
import { createFailedLogins } from '../../../plane/access/failed-logins.ts';
import { lastGoodFolder } from '../../../plane/start.ts';
import { openRecordStore } from '../../../store/records/open-records.ts';
import type { OpenRecordStore } from '../../../store/records/sql/operations.ts';
import type { HeartbeatBody } from '../../../store/state/heartbeat-body.ts';
import { componentProblems } from '../../support/api-description.ts';
import { sampleHeartbeat } from '../../support/managed-state.ts';
import { type Teardown, temporaryDirectory } from '../../support/teardown.ts';
import { waitFor } from '../../support/wait-for.ts';

const components = { list: 'ConfigRevisions', one: 'ConfigRevision', changes: 'ConfigRevisionChanges' } as const;

/** Of the list. */
export interface Row {
  readonly revision: string;
  readonly proxies: readonly object[];
  readonly [name: string]: unknown;
}

export const begin = Date.parse('2026-03-01T12:00:00Z');

export async function startRevisions(
  t: Teardown,
  { directory = temporaryDirectory(t, 'gateway-config'), commit }: { directory?: string; commit?: string } = {},
) {
  const [ownFolder, data] = [temporaryDirectory(t), temporaryDirectory(t, 'gateway-records')];
  const store = openRecordStore({ directory: data, timeoutMs: 5_000 });
  const at = { nowMs: begin };
  const nowMs = () => at.nowMs;
  const proxies: HeardProxy[] = [];
  const lines: unknown[] = [];
  const log = {
    info: (...said: unknown[]) => void lines.push(said),
    warn: (...said: unknown[]) => void lines.push(said),
  };
  const reading = readEnvironment({
    GATEWAY_MASTER_KEY: 'a-known-secret-of-the-gateway',
    GATEWAY_CONFIG: directory,
    GATEWAY_CONFIG_COMMIT: commit,
  });
  if (!('environment' in reading)) throw new Error(reading.problems.join());
  const settings = { ...reading.environment, instance: 'plane' };
  const open = (on: OpenRecordStore = store): Revisions => {
    const opened = openRevisions({
      store: on,
      settings,
      config: { declared: defaultConfig(), recordsMaxSize: '20GiB' },
      managed: { masterKey: undefined },
      fleet: { proxies: () => proxies },
      nowMs,
      log,
    });
    t.teardown(() => opened.close());
    return opened;
  };
  const current: { revisions: Revisions; follower: Follower | undefined } = { revisions: open(), follower: undefined };
  const follow = async (): Promise<void> => {
    await current.follower?.close();
    current.follower = await followConfig({
      directory,
      environment: {},
      variables: 'keep',
      entitlements: new Set(),
      lastGoodFolder: lastGoodFolder(ownFolder),
      nowMs,
      apply: () => undefined,
      report: (event) => current.revisions.note(event),
    });
  };
  const app = createServer({
    logger: { error: (...said: unknown[]) => void lines.push(said), info: () => undefined },
    metrics: { contentType: 'text/plain', text: async () => '' },
    access: {
      credentials: () => credentialsOf(digestOf('master'), []),
      failedLogins: createFailedLogins(),
      masterKey: 'master',
      nowMs,
    },
    readiness: () => ({ status: 'ready', reasons: [] }),
  });
  const revisions: Pick<Revisions, 'store' | 'status' | 'verdicts' | 'filesOf'> = {
    store,
    status: () => current.revisions.status(),
    verdicts: () => current.revisions.verdicts(),
    filesOf: (revision) => current.revisions.filesOf(revision),
  };
  await app.register(revisionRoutes, {
    parts: { revisions, settings, status: () => current.follower?.status(), secrets: () => ['known-secret'], nowMs },
  });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(async () => {
    await current.follower?.close();
    await app.close();
    await store.close();
  });

  /** Below /admin/config/revisions; what is answered is what is described. */
  async function ask(path: string, kind: keyof typeof components, status = 200): Promise<Record<string, unknown>> {
    const headers = { authorization: 'Bearer master' };
    const response = await fetch(`${address}/admin/config/revisions${path}`, { headers });
    const body = (await response.json()) as Record<string, unknown>;
    const problems = componentProblems(response.ok ? components[kind] : 'AdminError', body);
    if (response.status !== status || problems.length > 0)
      throw new Error(`GET ${path}: ${response.status} ${problems.join('; ')} ${JSON.stringify(body)}`);
    return body;
  }

  return {
    address,
    directory,
    store,
    at,
    lines,
    current,
    open,
    follow,
    ask,
    list: async (): Promise<readonly Row[]> => (await ask('', 'list'))['revisions'] as readonly Row[],
    put: (files: Readonly<Record<string, string | null>>): void => {
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(directory, name)), { recursive: true });
        if (text === null) rmSync(join(directory, name));
        else writeFileSync(join(directory, name), text);
      }
    },
    /** Loads the directory now; gives the revision in force. */
    async reload(): Promise<string> {
      return (await current.follower?.reload())?.revision ?? '';
    },
    /** Replaces what proxies say. */
    say: (said: Readonly<Record<string, Partial<HeartbeatBody>>>): void => {
      proxies.length = 0;
      for (const [instance, body] of Object.entries(said))
        proxies.push({ instance, isLive: true, body: sampleHeartbeat(body) });
    },
    /** Until the list has so many entries. */
    async kept(count: number): Promise<readonly Row[]> {
      await waitFor(`${count} entries`, async () => (await store.revisions()).length === count);
      return (await ask('', 'list'))['revisions'] as readonly Row[];
    },
  };
}
