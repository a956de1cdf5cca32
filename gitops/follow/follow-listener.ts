// Keeps the certificate of a listener equal to its files: a renewed pair is in force without a restart. What cannot be used changes nothing.
import type { AssembledConfig, Listener } from '../assemble/assembled.ts';
import type { Loaded } from '../assemble/load.ts';
import { load } from '../assemble/load-off-thread.ts';
import { type Problem, problemOfFile, sortProblems } from '../read/problem.ts';
import type { FollowStatus } from './config-status.ts';
import type { Follower } from './follow.ts';
import type { FollowOptions } from './follow-options.ts';
import { FollowedListener } from './followed-listener.ts';
import { keepLooking } from './looking.ts';

/** The section with the `tls` of a process: `server` of a proxy, `admin` of the control plane. */
export type ListenerSection = Listener['section'];

const stays = '; the last certificate stays in force';

/**
 * As `follow` does; the configurations that are applied hold the `material` of their listener, if it has TLS. One whose files cannot be used
 * is rejected. At a start a certificate that has expired is used all the same, because there is no other one.
 */
export async function followListener(
  follow: (options: FollowOptions) => Promise<Follower>,
  options: FollowOptions,
  section: ListenerSection,
): Promise<Follower> {
  const { directory, report, load: loadFrom = load } = options;
  const following = new FollowingListener(options, section);
  const follower = await follow({
    ...options,
    apply: (config, revision) => following.apply(config, revision),
    load: async (...given) => following.complete(await loadFrom(...given)),
  });
  const looking = keepLooking(
    async () => {
      if (await following.look(() => looking.isClosed)) await follower.reload();
    },
    (error) => {
      const problem = problemOfFile(directory, `reading the certificate of the listener failed: ${String(error)}`);
      report({ kind: 'warning', revision: follower.status().revision, problems: [problem] });
    },
  );
  return {
    status() {
      const certificate = following.status();
      return { ...follower.status(), ...(certificate === undefined ? {} : { certificate }) };
    },
    reload: () => follower.reload(),
    given: () => follower.given(),
    async close() {
      await looking.close();
      await follower.close();
    },
  };
}

class FollowingListener {
  readonly #options: FollowOptions;
  readonly #section: ListenerSection;
  /** By its files. */
  readonly #known = new Map<string, FollowedListener>();
  #inForce: { readonly config: AssembledConfig; readonly revision: string } | undefined;
  /** That of a configuration that was rejected because of its files. */
  #wanting: Listener | undefined;
  /** The problem that was reported last. */
  #told: string | undefined;

  constructor(options: FollowOptions, section: ListenerSection) {
    this.#options = options;
    this.#section = section;
  }

  apply(config: AssembledConfig, revision: string): void {
    const listener = this.#listenerOf(config);
    const followed = listener === undefined ? undefined : this.#followedOf(listener);
    const material = followed?.material;
    this.#options.apply(material === undefined ? config : { ...config, material }, revision);
    this.#inForce = { config, revision };
    for (const [id, each] of this.#known) if (each !== followed) this.#known.delete(id);
  }

  async complete(loaded: Loaded): Promise<Loaded> {
    this.#wanting = undefined;
    const listener = this.#listenerOf(loaded.config);
    if (listener === undefined) return loaded;
    const problem = await this.#read(listener);
    if (problem === undefined) return loaded;
    this.#wanting = listener;
    return { problems: sortProblems([...loaded.problems, problem]), warnings: loaded.warnings };
  }

  /** Looks at the files. True: those of a configuration that was rejected can be used now. */
  async look(isClosed: () => boolean): Promise<boolean> {
    await this.#lookAtInForce(isClosed);
    return !isClosed() && this.#wanting !== undefined && (await this.#read(this.#wanting)) === undefined;
  }

  status(): FollowStatus['certificate'] {
    const listener = this.#listenerOf(this.#inForce?.config);
    const followed = listener === undefined ? undefined : this.#followedOf(listener);
    if (listener === undefined || followed?.material === undefined) return undefined;
    return { notAfterMs: followed.material.notAfterMs, problem: followed.problem(listener, stays) };
  }

  async #lookAtInForce(isClosed: () => boolean): Promise<void> {
    const { config, revision } = this.#inForce ?? {};
    const listener = this.#listenerOf(config);
    if (config === undefined || listener === undefined || revision === undefined) return;
    const followed = this.#followedOf(listener);
    const change = await followed.look();
    if (isClosed() || this.#inForce?.config !== config) return;
    const { report } = this.#options;
    const problem = followed.problem(listener, stays);
    const isNews = problem !== undefined && problem.message !== this.#told;
    this.#told = problem?.message;
    const problems = [isNews ? problem : undefined, followed.ending(listener)].filter((each) => each !== undefined);
    if (problems.length > 0) report({ kind: 'warning', revision, problems });
    if (change !== 'renewed') return;
    this.apply(config, revision);
    const message = 'names a file with another certificate or other authorities now';
    report({ kind: 'listener-renewed', revision, problems: [{ ...placeOf(listener), message }] });
  }

  /** Reads files that are not in force yet; gives why they cannot be. */
  async #read(listener: Listener): Promise<Problem | undefined> {
    const followed = this.#followedOf(listener);
    const inForce = this.#listenerOf(this.#inForce?.config);
    if (inForce !== undefined && this.#followedOf(inForce) === followed) return undefined;
    await followed.read();
    if (followed.material === undefined) return followed.problem(listener, '');
    const { untimely } = followed;
    if (this.#inForce === undefined || untimely === undefined) return undefined;
    return { ...placeOf(listener), message: `names a file that ${untimely}` };
  }

  #listenerOf(config: AssembledConfig | undefined): Listener | undefined {
    return config?.listeners?.find((each) => each.section === this.#section);
  }

  #followedOf({ files }: Listener): FollowedListener {
    const id = JSON.stringify(files);
    const followed = this.#known.get(id) ?? new FollowedListener(files, this.#options.nowMs);
    this.#known.set(id, followed);
    return followed;
  }
}

function placeOf({ places }: Listener): Omit<Problem, 'message'> {
  return places['certificate_file'] ?? problemOfFile('', '');
}
