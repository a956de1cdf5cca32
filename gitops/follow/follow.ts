// Keeps the configuration in force equal to the directory, or to what is given in its place. After a mistake the last good configuration
// stays in force.
import { singleFlight } from '../../store/single-flight.ts';
import type { AssembledConfig } from '../assemble/assembled.ts';
import { namesLeftOut } from '../assemble/leave-out.ts';
import type { Loaded } from '../assemble/load.ts';
import type { LeavesOut } from '../assemble/load-context.ts';
import { firstLoadBytes, load, reloadBytes } from '../assemble/load-off-thread.ts';
import type { ConfigChange } from '../diff/config-change.ts';
import { diffConfigs } from '../diff/diff.ts';
import { warnOfMisnamed } from '../read/beside.ts';
import { type Problem, problemOfFile, sortProblems } from '../read/problem.ts';
import { type Reading, readDirectory, revisionOf, wholeOf } from '../read/read.ts';
import { ConfigRejected } from './config-rejected.ts';
import type { ConfigEvent, FollowStatus } from './config-status.ts';
import { defaultSettings, type FollowOptions, type FollowSettings, mostCompared } from './follow-options.ts';
import { type Given, type GivenConfig, givenStatus, heldConfig, isSameGiven } from './given-config.ts';
import { keepLastGood, type LastGood, recallLastGood } from './last-good.ts';
import { createSteadiness, type Steadiness } from './steadiness.ts';
import { watchDirectory } from './watch.ts';

export interface Follower {
  status: () => FollowStatus;
  /** Refreshes without waiting for steady content; resolves when the content is applied or rejected. */
  reload: () => Promise<FollowStatus>;
  /** What is given in place of the directory may be another one now: takes it. Resolves when it is in force, or cannot be; never rejects. */
  given: () => Promise<void>;
  close: () => Promise<void>;
}

/**
 * Loads the directory, applies it and keeps following it. Resolves once a configuration is in force. Throws `ConfigRejected` when
 * neither the directory nor the last good copy is usable, or when a problem is fatal. Later nothing throws: problems are reported, and
 * the configuration in force stays (design section 3).
 */
export async function followConfig(options: FollowOptions): Promise<Follower> {
  const follower = new ConfigFollower(options);
  const misnamed = await warnOfMisnamed(options.directory);
  if (misnamed.length > 0) options.report({ kind: 'warning', revision: '', problems: misnamed });
  await follower.start();
  const watch = watchDirectory(options.directory, follower.settings, () => void follower.refresh(false));
  // It may have been given while the process started; and the directory was not loaded when something was given before.
  if (options.given !== undefined) void follower.refresh(false);
  return {
    status: () => follower.status(),
    async reload() {
      await follower.refresh(true);
      return follower.status();
    },
    given: () => follower.given(),
    async close() {
      const ended = follower.close();
      await watch.close();
      await ended;
    },
  };
}

const none: LeavesOut = new Set<string>();

/** One directory and the configuration in force. */
class ConfigFollower {
  readonly settings: FollowSettings;
  readonly #options: FollowOptions;
  readonly #steadiness: Steadiness;
  readonly #status: Omit<FollowStatus, 'reloads'> = {
    revision: '',
    source: 'directory',
    lastReloadSuccessful: true,
    lastSuccessMs: 0,
    problems: [],
    directory: '',
  };
  readonly #reloads = { success: 0, failure: 0 };
  /** Content hashes: of the configuration in force, and of the content that was last applied, recovered or rejected. */
  #active = '';
  #decided = '';
  /** The configuration in force, and its differences from the one before. */
  #config: AssembledConfig | undefined;
  #changes: readonly ConfigChange[] = [];
  #pending: { hash: string; loaded: Loaded } | undefined;
  /** What stands in place of the directory, as of the last refresh. */
  #given: GivenConfig | undefined;
  /** Another one may be given by now: nothing else is decided before it is asked for. */
  #hasNews = false;
  readonly #refreshing = singleFlight(() => this.#refreshOnce());
  /** The next refresh does not wait for steady content. */
  #isUrgent = false;
  #isClosed = false;
  #lastWarnings = '';

  constructor(options: FollowOptions) {
    this.#options = options;
    this.settings = { ...defaultSettings, ...options.settings };
    this.#steadiness = createSteadiness(this.settings, (atOnce) => void this.refresh(atOnce));
  }

  status(): FollowStatus {
    return { ...this.#status, reloads: { ...this.#reloads } };
  }

  async start(): Promise<void> {
    const reading = await readDirectory(this.#options.directory);
    // What is given goes first. The directory is then looked at by the first refresh.
    if ((await this.#startFromGiven(reading.hash)) || (await this.#startHeld(reading.hash))) return;
    this.#decided = reading.hash;
    const problems = await this.#startFromDirectory(reading, none);
    if (problems.length === 0) return;
    if (problems.some(({ fatal }) => fatal === true)) throw new ConfigRejected(problems);
    const copy = await this.#recall();
    const rejected = { hash: reading.hash, problems, files: wholeOf(reading) };
    const ofCopy = copy === undefined ? [] : await this.#startFromCopy(copy, rejected, none);
    if (copy !== undefined && ofCopy.length === 0) return;
    // A provider whose key cannot be used, or whose variables are not set, must not stop a start.
    if ((await this.#startFromDirectory(reading, 'all')).length === 0) return;
    if (copy !== undefined && (await this.#startFromCopy(copy, rejected, 'all')).length === 0) return;
    const about = ofCopy.map((problem) => ({ ...problem, message: `${problem.message} (in the last good copy)` }));
    throw new ConfigRejected([...problems, ...about]);
  }

  /** Whether it is in force. As with the directory, a provider whose key cannot be used must not stop it. */
  async #startFromGiven(directory: string): Promise<boolean> {
    const given = await this.#ask(directory, this.#config);
    return given !== undefined && given !== 'held' && this.#startFrom(given, [none, 'all']);
  }

  /** Whether the last good copy is in force, because it stays until the directory has its turn. */
  async #startHeld(directory: string): Promise<boolean> {
    const copy = this.#options.given === undefined ? undefined : await this.#recall();
    if (copy === undefined || copy.hash === directory) return false;
    const loaded = await this.#load({ ...copy, problems: [] }, firstLoadBytes, none);
    if ((await this.#ask(directory, loaded.config, copy.hash)) !== 'held') return false;
    return this.#startFrom(heldConfig(copy.hash, copy.files), [none]);
  }

  async #startFrom(given: GivenConfig, ways: readonly LeavesOut[]): Promise<boolean> {
    this.#given = given;
    let problems: readonly Problem[] = [];
    for (const leavesOut of ways) {
      problems = await this.#applyGiven(given, firstLoadBytes, leavesOut);
      if (problems.length === 0) break;
    }
    await this.#noteGiven(given, problems);
    return problems.length === 0;
  }

  /** What stands in place of the directory, for a process with this configuration in force. Content hashes. */
  async #ask(directory: string, config: AssembledConfig | undefined, hash = this.#active): Promise<Given> {
    const inForce = config && { revision: revisionOf(hash), hasRollout: config.rollout !== undefined };
    return this.#options.given?.({ directory: revisionOf(directory), inForce });
  }

  /** The problems; none when its configuration is in force. */
  async #startFromDirectory(reading: Reading, leavesOut: LeavesOut): Promise<readonly Problem[]> {
    const loaded = await this.#load(reading, firstLoadBytes, leavesOut);
    const problems = loaded.problems.length > 0 ? loaded.problems : this.#tryApply(loaded, reading.hash);
    if (problems.length > 0) return problems;
    this.#note(reading.hash, []);
    this.#status.lastSuccessMs = this.#options.nowMs();
    this.#report('applied', [], reading.files);
    await this.#keep(reading);
    return problems;
  }

  /** As `#startFromDirectory`. `rejected`: the content of the directory. */
  async #startFromCopy(
    copy: LastGood,
    rejected: Pick<ConfigEvent, 'problems' | 'files'> & { readonly hash: string },
    leavesOut: LeavesOut,
  ): Promise<readonly Problem[]> {
    const loaded = await this.#load({ ...copy, problems: [] }, firstLoadBytes, leavesOut);
    const unusable = loaded.problems.length > 0 ? loaded.problems : this.#tryApply(loaded, copy.hash);
    if (unusable.length > 0) return unusable;
    const { hash, problems, files } = rejected;
    this.#note(hash, problems);
    this.#status.source = 'last-good';
    this.#options.report({ kind: 'rejected', revision: revisionOf(hash), problems, files });
    this.#report('last-good-used', problems, copy.files);
    return [];
  }

  async #recall(): Promise<LastGood | undefined> {
    if (this.#options.lastGoodFolder === undefined) return undefined;
    const { lastGood, warning } = await recallLastGood(this.#options.lastGoodFolder, this.#options.directory);
    if (warning) this.#options.report({ kind: 'warning', revision: '', problems: [warning] });
    return lastGood;
  }

  async #keep({ files }: Pick<GivenConfig, 'files'>): Promise<void> {
    const warning =
      this.#options.lastGoodFolder === undefined
        ? undefined
        : await keepLastGood(this.#options.lastGoodFolder, this.#options.directory, files);
    if (warning !== undefined) this.#report('warning', [warning]);
  }

  /** Providers that are left out already stay so; an edit must not end one that works. */
  async #load(
    { files, problems, hash }: Reading,
    inlineBytes: number,
    leavesOut: LeavesOut = new Set(this.#config === undefined ? [] : namesLeftOut(this.#config)),
  ): Promise<Loaded> {
    if (this.#pending?.hash === hash) return this.#pending.loaded;
    const { load: loadWith = load, variables } = this.#options;
    const context = { ...this.#options, leavesOut, variables: variables === 'keep' ? 'keep' : 'error' } as const;
    const loaded = files.length === 0 ? { problems: [], warnings: [] } : await loadWith(files, context, inlineBytes);
    return problems.length === 0
      ? loaded
      : { problems: sortProblems([...problems, ...loaded.problems]), warnings: loaded.warnings };
  }

  /** Puts a loaded configuration in force; an error thrown by `apply` is a problem of the whole directory. */
  #tryApply({ config, warnings }: Loaded, hash: string, source: FollowStatus['source'] = 'directory'): Problem[] {
    const revision = revisionOf(hash);
    const former = this.#config;
    try {
      if (config === undefined) throw new Error('there is no configuration');
      this.#options.apply(config, revision);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return [problemOfFile(this.#options.directory, `the configuration could not be put in force: ${reason}`)];
    }
    this.#active = hash;
    this.#config = config;
    this.#changes = former === undefined ? [] : diffConfigs(former, config, mostCompared);
    Object.assign(this.#status, { revision, source });
    this.#warn(warnings, revision);
    return [];
  }

  /** Reports warnings only when they differ from the last ones, not after every edit. */
  #warn(warnings: readonly Problem[], revision: string): void {
    const text = warnings.map(({ file, path, message }) => `${file} ${path} ${message}`).join('\n');
    if (warnings.length > 0 && text !== this.#lastWarnings)
      this.#options.report({ kind: 'warning', revision, problems: warnings });
    this.#lastWarnings = text;
  }

  given(): Promise<void> {
    this.#hasNews = true;
    return this.refresh(false);
  }

  /** One refresh runs at a time; calls before the next one begins share it. Never rejects. */
  refresh(atOnce: boolean): Promise<void> {
    this.#isUrgent ||= atOnce;
    return this.#refreshing.next();
  }

  async #refreshOnce(): Promise<void> {
    if (this.#isClosed) return;
    const atOnce = this.#isUrgent;
    this.#isUrgent = false;
    try {
      await this.#refreshNow(atOnce);
    } catch (error) {
      const problem = problemOfFile(this.#options.directory, `refreshing the configuration failed: ${String(error)}`);
      this.#report('warning', [problem]);
    }
  }

  async #refreshNow(asked: boolean): Promise<void> {
    const steady = this.#steadiness.steady();
    this.#hasNews = false;
    const reading = await readDirectory(this.#options.directory);
    const waited = await this.#takeGiven(reading.hash);
    // What has waited long enough need not wait until it is steady.
    const atOnce = asked || reading.hash === waited;
    // An explicit reload of rejected content reports the problems again.
    if (reading.hash === this.#decided && (this.#status.lastReloadSuccessful || !atOnce)) return this.#endWait();
    // Before loading, because the time of the load counts as time in which the content is steady.
    this.#steadiness.found(reading.hash);
    const loaded = await this.#load(reading, reloadBytes);
    if (this.#hasNews) {
      this.#isUrgent ||= asked;
      return;
    }
    if (loaded.problems.length === 0 && reading.hash === this.#active) return this.#recover(reading.hash);
    const isFine = loaded.problems.length === 0;
    const isDue = atOnce || (isFine && reading.hash === steady);
    this.#pending = { hash: reading.hash, loaded };
    if (!isDue) return this.#steadiness.wait();
    this.#endWait();
    this.#decided = reading.hash;
    if (isFine && this.#given !== undefined) return this.#hold(reading.hash);
    const problems = isFine ? this.#tryApply(loaded, reading.hash) : loaded.problems;
    if (problems.length > 0) return this.#reject(reading, problems);
    this.#note(reading.hash, []);
    this.#reloads.success += 1;
    this.#status.lastSuccessMs = this.#options.nowMs();
    this.#report('applied', [], reading.files);
    await this.#keep(reading);
  }

  /** Takes what is given now. When that was taken back: the content hash of the directory that was looked at before. */
  async #takeGiven(directory: string): Promise<string | undefined> {
    const said = await this.#ask(directory, this.#config);
    const given = said === 'held' ? heldConfig(this.#active) : said;
    const before = this.#given;
    this.#given = given;
    if (given === undefined) return before === undefined ? undefined : this.#endGiven();
    const isNew = given.hash !== before?.hash || given.source !== before.source;
    if (!isNew && this.#active === given.hash) return undefined;
    const isInForce = this.#active === given.hash;
    const problems = isInForce ? [] : await this.#applyGiven(given, reloadBytes);
    if (isInForce) this.#status.source = given.source;
    await this.#noteGiven(given, problems, isInForce && given.source === 'rollout');
    return undefined;
  }

  /** The problems; none when it is in force. */
  async #applyGiven(given: GivenConfig, inlineBytes: number, leavesOut?: LeavesOut): Promise<readonly Problem[]> {
    const reading = { files: [...given.files], problems: [], hash: given.hash };
    const loaded = await this.#load(reading, inlineBytes, leavesOut);
    return loaded.problems.length > 0 ? loaded.problems : this.#tryApply(loaded, given.hash, given.source);
  }

  /** The same problems are told once. */
  async #noteGiven(given: GivenConfig, problems: readonly Problem[], isHeld = false): Promise<void> {
    const before = this.#status.given;
    const status = givenStatus(given, problems);
    this.#status.given = status;
    this.#status.waiting = this.#waitingOf(this.#decided);
    if (problems.length === 0) {
      if (!isHeld) this.#report('given', [], given.files);
      if (given.files.length > 0) await this.#keep(given);
    } else if (!isSameGiven(before, status)) {
      this.#options.report({ kind: 'given-unusable', revision: status.revision, problems, files: given.files });
    }
  }

  #endGiven(): string {
    const looked = this.#decided;
    const { given, source } = this.#status;
    // Until the directory is decided on; for as long as it is not usable.
    if (source === given?.source) this.#status.source = 'last-good';
    Object.assign(this.#status, { given: undefined, waiting: undefined });
    this.#decided = '';
    this.#endWait();
    return looked;
  }

  /** `hash`: what the directory holds; empty when it was not looked at yet. */
  #waitingOf(hash: string): string | undefined {
    return this.#given === undefined || hash === '' || hash === this.#active ? undefined : revisionOf(hash);
  }

  /** The directory holds a good configuration that is not put in force. */
  #hold(hash: string): void {
    this.#note(hash, []);
    this.#options.report({ kind: 'waiting', revision: revisionOf(hash), problems: [] });
  }

  #reject(reading: Reading, problems: readonly Problem[]): void {
    this.#reloads.failure += 1;
    this.#note(reading.hash, problems);
    this.#options.report({ kind: 'rejected', revision: revisionOf(reading.hash), problems, files: wholeOf(reading) });
  }

  #recover(hash: string): void {
    this.#endWait();
    this.#decided = hash;
    this.#note(hash, []);
    this.#status.lastSuccessMs = this.#options.nowMs();
    // What is given stays the source of the same configuration.
    if (this.#given !== undefined) return;
    this.#reloads.success += 1;
    this.#status.source = 'directory';
    this.#report('recovered');
  }

  /** The directory holds this content, which is in force when it has no problems. */
  #note(hash: string, problems: readonly Problem[]): void {
    const isGood = problems.length === 0;
    const sinceMs = this.#status.rejected?.sinceMs ?? Math.floor(this.#options.nowMs());
    const rejected = isGood ? undefined : { revision: revisionOf(hash), sinceMs };
    const waiting = this.#waitingOf(hash);
    this.#status.directory = revisionOf(hash);
    Object.assign(this.#status, { lastReloadSuccessful: isGood, problems, rejected, waiting });
  }

  /** Reports an event about the configuration in force. */
  #report(kind: ConfigEvent['kind'], problems: readonly Problem[] = [], files?: ConfigEvent['files']): void {
    const changes = kind === 'applied' || kind === 'given' ? this.#changes : [];
    const { revision } = this.#status;
    this.#options.report({ kind, revision, problems, files, ...(changes.length > 0 && { changes }) });
  }

  #endWait(): void {
    this.#steadiness.end();
    this.#pending = undefined;
  }

  /** Resolves when a running refresh has ended; no other refresh begins. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#refreshing.finished();
    this.#steadiness.end();
  }
}
