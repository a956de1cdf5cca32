// Keeps each revision that this plane puts in force or rejects in the record store, behind the reload and never in its way.
import { setTimeout } from 'node:timers/promises';
import type { ConfigCommit, RevisionFile } from '../../domain/records/config-revision.ts';
import type { ConfigEvent } from '../../gitops/follow/config-status.ts';
import type { SourceFile } from '../../gitops/read/read.ts';
import type { Log } from '../../plane/log-events.ts';
import type { RevisionBounds, RevisionStore, RevisionToKeep } from '../../store/records/kept-revisions.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { contentHash, describeFiles, packFile, portionsOf } from './pack-files.ts';
import { type FactParts, factsOf } from './revision-facts.ts';

/** Entries that are kept. */
export const mostRevisions = 50;
/** What waits for the store: entries, and bytes of their files. The newest waits whatever its size. */
const [mostWaiting, mostWaitingBytes] = [20, 16 * 1024 * 1024];
/** How long a store that fails is left alone. Milliseconds. */
const troubleMs = 1_000;
/** Another control plane may remove files that no revision has yet. */
const mostTries = 3;

const outcomes: Readonly<Partial<Record<ConfigEvent['kind'], RevisionToKeep['outcome']>>> = {
  applied: 'applied',
  given: 'applied',
  'last-good-used': 'applied',
  rejected: 'rejected',
  'given-unusable': 'rejected',
};

export interface RevisionKeeperParts extends FactParts {
  readonly store: Pick<RevisionStore, 'revisions' | 'revisionFiles' | 'packedFiles' | 'keepFiles' | 'keepRevision'>;
  /** The commit of the directory now. */
  readonly commit: () => Promise<ConfigCommit | undefined>;
  /** Of all files, packed; asked each time. */
  readonly mostBytes: () => number;
  /** Called when an entry has been kept. */
  readonly kept: () => void;
  readonly nowMs: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

export interface KeeperStatus {
  /** Since the start of this process. */
  readonly kept: number;
  readonly lost: number;
  /** Why the newest one is not kept yet; absent: it is, or it is being kept. */
  readonly trouble?: string;
}

export interface RevisionKeeper {
  /** Takes each event of the configuration. Returns at once. */
  note(event: ConfigEvent): void;
  status(): KeeperStatus;
  /** What waits is given up. */
  close(): Promise<void>;
}

interface Waiting {
  readonly event: ConfigEvent;
  readonly outcome: RevisionToKeep['outcome'];
  readonly atMs: number;
  readonly bytes: number;
  readonly commit: Promise<ConfigCommit | undefined>;
}

export function keepRevisions(parts: RevisionKeeperParts): RevisionKeeper {
  const { log, nowMs } = parts;
  const waiting: Waiting[] = [];
  const closing = new AbortController();
  let running: Promise<void> | undefined;
  let isRunning = false;
  let [kept, lost] = [0, 0];
  let trouble: string | undefined;

  function note(event: ConfigEvent): void {
    const outcome = outcomes[event.kind];
    if (outcome === undefined || closing.signal.aborted) return;
    const bytes = sizeOf(event.files ?? []);
    waiting.push({ event, outcome, atMs: nowMs(), bytes, commit: parts.commit().catch(() => undefined) });
    while (waiting.length > 1 && (waiting.length > mostWaiting || sumOf(waiting) > mostWaitingBytes)) {
      waiting.shift();
      lost += 1;
    }
    if (!isRunning) running = run();
  }

  async function run(): Promise<void> {
    isRunning = true;
    for (let [next] = waiting; next !== undefined && !closing.signal.aborted; [next] = waiting) {
      try {
        const isNew = await keep(parts, next);
        if (waiting[0] === next) waiting.shift();
        if (isNew) kept += 1;
        if (trouble !== undefined) log.info('revisions of the configuration are kept again');
        trouble = undefined;
        parts.kept();
      } catch (error) {
        await fail(next, error);
      }
    }
    isRunning = false;
  }

  /** A store that is away is asked again; what it will never take is given up. */
  async function fail(failed: Waiting, error: unknown): Promise<void> {
    const isAway = error instanceof StoreUnavailable;
    if (!isAway) {
      if (waiting[0] === failed) waiting.shift();
      lost += 1;
    }
    if (trouble === undefined || !isAway)
      log.warn({ err: error, revision: failed.event.revision }, isAway ? awayText : givenUpText);
    trouble = error instanceof Error ? error.message : String(error);
    if (isAway) await setTimeout(troubleMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
  }

  return {
    note,
    status: () => ({ kept, lost, ...(trouble === undefined ? {} : { trouble }) }),
    async close() {
      closing.abort();
      await running;
    },
  };
}

const awayText =
  'revisions of the configuration cannot be kept, because the record store does not take them: the newest wait, and what is in force stays so';
const givenUpText = 'a revision of the configuration could not be kept: its list lacks this entry';

function sizeOf(files: readonly SourceFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

function sumOf(waiting: readonly Waiting[]): number {
  return waiting.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Whether it is a new entry. */
async function keep(parts: RevisionKeeperParts, { event, outcome, atMs, commit }: Waiting): Promise<boolean> {
  const { files = [], revision } = event;
  const { store } = parts;
  const facts = await factsOf(parts, event, outcome, commit);
  const described = facts.without_files === undefined ? await describeFiles(files) : undefined;
  const hash = described === undefined ? revision : await contentHash(described);
  const entry = { revision, hash, at_ms: Math.floor(atMs), outcome, facts };
  const bounds: RevisionBounds = { entries: mostRevisions, bytes: parts.mostBytes() };
  if (described === undefined) return (await store.keepRevision(entry, bounds)).isNew;
  for (let tries = 0; tries < mostTries; tries += 1) {
    const { isNew, lacking } = await store.keepRevision({ ...entry, files: described }, bounds);
    if (lacking.length === 0) return isNew;
    if (!(await keepFiles(parts, { files, described, lacking: new Set(lacking), mostBytes: bounds.bytes }))) {
      const without = { ...entry, facts: { ...facts, without_files: 'too_large' } } as const;
      return (await store.keepRevision(without, bounds)).isNew;
    }
  }
  throw new Error('its files were removed while they were being kept');
}

interface FilesToKeep {
  readonly files: readonly SourceFile[];
  /** Of `files`, in their order. */
  readonly described: readonly RevisionFile[];
  /** Hashes. */
  readonly lacking: ReadonlySet<string>;
  readonly mostBytes: number;
}

/** False: they are too large, packed, and not all of them are kept. */
async function keepFiles(
  { store }: RevisionKeeperParts,
  { files, described, lacking, mostBytes }: FilesToKeep,
): Promise<boolean> {
  const bytes = new Map(described.map(({ hash }, at) => [hash, files[at]?.bytes ?? new Uint8Array()]));
  const missing = [...bytes].filter(([hash]) => lacking.has(hash));
  let packedBytes = 0;
  for (const portion of portionsOf(missing, ([, each]) => each.length)) {
    const packed = await Promise.all(portion.map(([hash, each]) => packFile(hash, each)));
    packedBytes += packed.reduce((sum, each) => sum + each.packed.length, 0);
    if (packedBytes > mostBytes) return false;
    await store.keepFiles(packed);
  }
  return true;
}
