// The whole flow of the configuration in one function: watch, read, parse, validate, assemble, hand over; the last good one stays otherwise.
import type { AssembledConfig } from './assembled.ts';
import { ConfigRejected } from './config-rejected.ts';
import { keepLastGood, type LastGood, recallLastGood } from './last-good.ts';
import type { Loaded } from './load.ts';
import { firstLoadBytes, load, reloadBytes } from './load-off-thread.ts';
import { type Problem, problemOfFile, sortProblems } from './problem.ts';
import { type Reading, readDirectory, revisionOf } from './read.ts';
import { createSettling, type SettlingSettings } from './steadiness.ts';
import { type WatchSettings, watchDirectory } from './watch.ts';

export interface FollowOptions {
  directory: string;
  environment: Readonly<Record<string, string | undefined>>;
  /** `keep` leaves `${VAR}` as written: the control plane expands no provider secret. */
  variables: 'expand' | 'keep';
  entitlements: ReadonlySet<string>;
  /** Folder for the copy of the last good configuration; without it there is none. */
  lastGoodFolder?: string;
  nowMs: () => number;
  /** Puts a configuration in force; when it throws, the configuration counts as rejected. */
  apply: (config: AssembledConfig, revision: string) => void;
  report: (event: ConfigEvent) => void;
  settings?: Partial<FollowSettings>;
}

export type FollowSettings = WatchSettings & SettlingSettings;

/**
 * `applied`: in force now. `recovered`: the directory again holds what is in force. `rejected`: nothing changed. `last-good-used`:
 * started on the copy, the problems say why. `warning`: worth a line, changes nothing.
 */
export interface ConfigEvent {
  kind: 'applied' | 'recovered' | 'rejected' | 'last-good-used' | 'warning';
  /** Of the content the event is about. */
  revision: string;
  problems: readonly Problem[];
}

export interface FollowStatus {
  /** Of the configuration in force. */
  revision: string;
  source: 'directory' | 'last-good';
  lastReloadSuccessful: boolean;
  /** When the directory last held what is in force; 0 when it has not since the start. */
  lastSuccessMs: number;
  /** Since the start, the first load not counted. */
  reloads: { success: number; failure: number };
  /** What is wrong with the directory now. */
  problems: readonly Problem[];
}

export interface Follower {
  status: () => FollowStatus;
  /** Looks at once and without patience; resolves when the verdict is in force. */
  reload: () => Promise<FollowStatus>;
  close: () => Promise<void>;
}

const defaults: FollowSettings = { debounceMs: 100, recheckMs: 400, steadyMs: 200, patienceMs: 600 };

/**
 * Loads the directory, applies it and keeps following it. Resolves once a configuration is in force; throws `ConfigRejected` when
 * there is none, neither in the directory nor a last good copy, or when a problem is fatal. Later nothing throws: what is wrong is
 * reported, and the configuration in force stays (design section 3).
 */
export async function followConfig(options: FollowOptions): Promise<Follower> {
  const { directory, nowMs, report, lastGoodFolder } = options;
  const settings = { ...defaults, ...options.settings };
  const status = {
    revision: '',
    source: 'directory',
    lastReloadSuccessful: true,
    lastSuccessMs: 0,
    problems: [],
  } as Omit<FollowStatus, 'reloads'>;
  const reloads = { success: 0, failure: 0 };
  /** Content hashes: what is in force, and what has been judged last. */
  let active = '';
  let judged = '';
  let pending: { hash: string; loaded: Loaded } | undefined;
  let queue: Promise<void> = Promise.resolve();
  let isQueued = false;
  let isClosed = false;
  let lastWarnings = '';

  await start();
  const settling = createSettling(settings, (atOnce) => void look(atOnce));
  const watch = watchDirectory(directory, settings, () => void look(false));
  return {
    status: snapshot,
    async reload() {
      await look(true);
      return snapshot();
    },
    async close() {
      isClosed = true;
      await watch.close();
      await queue;
      settling.end();
    },
  };

  function snapshot(): FollowStatus {
    return { ...status, reloads: { ...reloads } };
  }

  async function start(): Promise<void> {
    const reading = await readDirectory(directory);
    const loaded = await judge(reading, firstLoadBytes);
    judged = reading.hash;
    const problems = loaded.problems.length > 0 ? loaded.problems : tryApply(loaded, reading.hash);
    if (problems.length === 0) {
      status.lastSuccessMs = nowMs();
      report({ kind: 'applied', revision: status.revision, problems: [] });
      await keep(reading);
      return;
    }
    if (problems.some(({ fatal }) => fatal === true)) throw new ConfigRejected(problems);
    await startFromCopy(reading, problems);
  }

  async function startFromCopy(reading: Reading, problems: readonly Problem[]): Promise<void> {
    const copy = await recall();
    if (copy === undefined) throw new ConfigRejected(problems);
    const loaded = await judge({ ...copy, problems: [] }, firstLoadBytes);
    const unusable = loaded.problems.length > 0 ? loaded.problems : tryApply(loaded, copy.hash);
    if (unusable.length > 0) {
      const about = unusable.map((problem) => ({ ...problem, message: `${problem.message} (in the last good copy)` }));
      throw new ConfigRejected([...problems, ...about]);
    }
    Object.assign(status, { source: 'last-good', lastReloadSuccessful: false, problems });
    report({ kind: 'rejected', revision: revisionOf(reading.hash), problems });
    report({ kind: 'last-good-used', revision: status.revision, problems });
  }

  async function recall(): Promise<LastGood | undefined> {
    if (lastGoodFolder === undefined) return undefined;
    const { lastGood, warning } = await recallLastGood(lastGoodFolder, directory);
    if (warning !== undefined) report({ kind: 'warning', revision: '', problems: [warning] });
    return lastGood;
  }

  async function keep({ files }: Reading): Promise<void> {
    const warning = lastGoodFolder === undefined ? undefined : await keepLastGood(lastGoodFolder, directory, files);
    if (warning !== undefined) report({ kind: 'warning', revision: status.revision, problems: [warning] });
  }

  async function judge({ files, problems, hash }: Reading, inlineBytes: number): Promise<Loaded> {
    if (pending?.hash === hash) return pending.loaded;
    const variables = options.variables === 'keep' ? 'keep' : 'error';
    const context = { ...options, variables } as const;
    const loaded = files.length === 0 ? { problems: [], warnings: [] } : await load(files, context, inlineBytes);
    return problems.length === 0
      ? loaded
      : { problems: sortProblems([...problems, ...loaded.problems]), warnings: loaded.warnings };
  }

  /** Puts a loaded configuration in force; what `apply` throws is a problem of the whole directory. */
  function tryApply({ config, warnings }: Loaded, hash: string): Problem[] {
    const revision = revisionOf(hash);
    try {
      if (config === undefined) throw new Error('there is no configuration');
      options.apply(config, revision);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return [problemOfFile(directory, `the configuration could not be put in force: ${reason}`)];
    }
    active = hash;
    Object.assign(status, { revision, source: 'directory', lastReloadSuccessful: true, problems: [] });
    warn(warnings, revision);
    return [];
  }

  /** A warning that lasts over many edits is worth one line, not one for every edit. */
  function warn(warnings: readonly Problem[], revision: string): void {
    const text = warnings.map(({ file, path, message }) => `${file} ${path} ${message}`).join('\n');
    if (warnings.length > 0 && text !== lastWarnings) report({ kind: 'warning', revision, problems: warnings });
    lastWarnings = text;
  }

  /** One look at a time; a look that has not begun yet serves everybody who asks for one. */
  function look(atOnce: boolean): Promise<void> {
    if (isClosed || (isQueued && !atOnce)) return queue;
    isQueued = true;
    queue = queue.then(async () => {
      isQueued = false;
      await lookNow(atOnce).catch((error: unknown) => {
        const problem = problemOfFile(directory, `looking at the configuration failed: ${String(error)}`);
        report({ kind: 'warning', revision: status.revision, problems: [problem] });
      });
    });
    return queue;
  }

  async function lookNow(atOnce: boolean): Promise<void> {
    const steady = settling.steady();
    const reading = await readDirectory(directory);
    // Somebody who asks for a reload of what was refused wants to hear why again.
    if (reading.hash === judged && (status.lastReloadSuccessful || !atOnce)) return calm();
    // Before the loading: it takes its time while the content proves to be steady.
    settling.found(reading.hash);
    const loaded = await judge(reading, reloadBytes);
    if (loaded.problems.length === 0 && reading.hash === active) return recover(reading.hash);
    const isFine = loaded.problems.length === 0;
    const isDue = atOnce || (isFine && reading.hash === steady);
    pending = { hash: reading.hash, loaded };
    if (!isDue) return settling.wait();
    calm();
    judged = reading.hash;
    const problems = isFine ? tryApply(loaded, reading.hash) : loaded.problems;
    if (problems.length > 0) return reject(reading.hash, problems);
    reloads.success += 1;
    status.lastSuccessMs = nowMs();
    report({ kind: 'applied', revision: status.revision, problems: [] });
    await keep(reading);
  }

  function reject(hash: string, problems: readonly Problem[]): void {
    reloads.failure += 1;
    Object.assign(status, { lastReloadSuccessful: false, problems });
    report({ kind: 'rejected', revision: revisionOf(hash), problems });
  }

  function recover(hash: string): void {
    calm();
    judged = hash;
    reloads.success += 1;
    Object.assign(status, { source: 'directory', lastReloadSuccessful: true, lastSuccessMs: nowMs(), problems: [] });
    report({ kind: 'recovered', revision: status.revision, problems: [] });
  }

  function calm(): void {
    settling.end();
    pending = undefined;
  }
}
