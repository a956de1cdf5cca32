// The revisions of the configuration in this plane: keeps them, notes what proxies make of them, and gives them back.
import type { LoadContext } from '../../gitops/assemble/load-context.ts';
import type { ConfigEvent } from '../../gitops/follow/config-status.ts';
import type { SourceFile } from '../../gitops/read/read.ts';
import type { Log } from '../../plane/log-events.ts';
import { sizeBytes } from '../../schemas/formats/units.ts';
import type { ListedRevision, NotedVerdict, RevisionStore } from '../../store/records/kept-revisions.ts';
import { heartbeatIntervalMs } from '../../store/state/heartbeat-body.ts';
import type { ConfigInForce } from '../config-in-force.ts';
import type { Environment } from '../environment.ts';
import { knownSecrets, type SecretSources } from '../known-secrets.ts';
import { commitOfConfig } from './commit-of-config.ts';
import { type KeeperStatus, keepRevisions } from './keep-revisions.ts';
import { type HeardProxy, noteVerdicts } from './note-verdicts.ts';
import { filesOf } from './pack-files.ts';

export interface RevisionParts {
  readonly store: RevisionStore;
  /** With the name of this control plane. */
  readonly settings: Environment & { readonly instance: string };
  /** In force. */
  readonly config: Pick<ConfigInForce, 'declared' | 'recordsMaxSize'>;
  readonly managed: SecretSources['managed'];
  readonly fleet: { readonly proxies: () => readonly HeardProxy[] };
  readonly nowMs: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

export interface Revisions {
  readonly store: RevisionStore;
  /** Takes each event of the configuration. Returns at once. */
  note(event: ConfigEvent): void;
  status(): KeeperStatus;
  /** What live proxies make of revisions, now. */
  verdicts(): readonly NotedVerdict[];
  /** See `filesOf`. */
  filesOf(revision: string): Promise<readonly SourceFile[] | undefined>;
  close(): Promise<void>;
}

/** Of all files, packed; and at most this share of what records may take. */
const [mostBytes, mostShare] = [64 * 1024 * 1024, 0.25];

export function openRevisions({ store, settings, config, managed, fleet, nowMs, log }: RevisionParts): Revisions {
  const { configDirectory, configCommit, variables: environment, entitlements, instance } = settings;
  const context: LoadContext = { environment, variables: 'keep', entitlements };
  const { proxies } = fleet;
  const verdicts = noteVerdicts({ store, proxies, nowMs, log });
  const keeper = keepRevisions({
    store,
    commit: () => commitOfConfig(configDirectory, configCommit),
    mostBytes: () => Math.min(mostBytes, mostShare * sizeBytes(config.recordsMaxSize)),
    context,
    secrets: () => knownSecrets({ environment: settings, managed, config: config.declared }),
    instance,
    kept: () => verdicts.again(),
    nowMs,
    log,
  });
  const timer = setInterval(() => void verdicts.look(), heartbeatIntervalMs).unref();
  return {
    store,
    note: (event) => keeper.note(event),
    status: () => keeper.status(),
    verdicts: () => verdicts.current(),
    filesOf: (revision) => filesOf(store, revision),
    async close() {
      clearInterval(timer);
      await keeper.close();
    },
  };
}

/** `listed`: the newest first. */
export function previousOf(listed: readonly ListedRevision[], revision: string): string | undefined {
  const at = listed.findIndex((each) => each.revision === revision);
  const older = listed.slice(at + 1).find((each) => each.outcome === 'applied' && each.revision !== revision);
  return older?.revision;
}
