// The rollout of configuration revisions over the proxies, and its document in the state store: the only one of its kind.
import { parseMoment } from '../../schemas/formats/moment.ts';
import { timestamp } from '../timestamp.ts';

/** The kind of its document, and the id. */
export const configRolloutKind = 'config_rollout';
export const configRolloutId = 'fleet';

/**
 * `canary`: some proxies have the revision. `finished`: it is in force everywhere. `aborted`: nowhere, and it waits in the directory.
 * `withdrawn`: the directory has another one since then.
 */
export type RolloutPhase = 'canary' | 'finished' | 'aborted' | 'withdrawn';

/** What has become of the revision that came last. Times in Unix milliseconds. */
export interface Trial {
  readonly revision: string;
  readonly phase: RolloutPhase;
  /** The instances that go first, or have gone first. */
  readonly proxies: readonly string[];
  readonly beganMs: number;
  /** When all proxies take it, as long as it is `canary`; afterwards, when the phase has begun. */
  readonly untilMs: number;
  /** Why it was aborted or withdrawn, or did not go first; absent: it went as configured. */
  readonly reason?: string;
  /** The operator who has said so: `master_key`, or the id of a key. */
  readonly by?: string;
}

export interface RolloutState {
  /** The revision that a proxy may put in force at any time. */
  readonly stable: string;
  /** Its configuration has a rollout: other revisions wait for theirs. */
  readonly gates: boolean;
  readonly trial?: Trial;
}

export interface ConfigRollout extends RolloutState {
  readonly key: string;
  /** The files of `stable`, as `packFiles` has made them; empty where it does not gate. */
  readonly files: string;
}

const phases: ReadonlySet<unknown> = new Set<RolloutPhase>(['canary', 'finished', 'aborted', 'withdrawn']);

/** The rollout of a document; undefined when the body is none. Unknown members are ignored. */
export function readConfigRollout(id: string, body: unknown): ConfigRollout | undefined {
  if (id !== configRolloutId || typeof body !== 'object' || body === null) return undefined;
  const { stable, gates, files, trial: said } = body as Readonly<Record<string, unknown>>;
  if (typeof stable !== 'string' || typeof gates !== 'boolean' || typeof files !== 'string') return undefined;
  const trial = said === undefined ? undefined : readTrial(said);
  if (said !== undefined && trial === undefined) return undefined;
  return Object.freeze({ key: id, stable, gates, files, ...(trial === undefined ? {} : { trial }) });
}

function readTrial(said: unknown): Trial | undefined {
  if (typeof said !== 'object' || said === null) return undefined;
  const { revision, phase, proxies, began_at: began, until, reason, by } = said as Readonly<Record<string, unknown>>;
  const [beganMs, untilMs] = [began, until].map((text) => (typeof text === 'string' ? parseMoment(text) : undefined));
  if (typeof revision !== 'string' || !phases.has(phase) || beganMs === undefined || untilMs === undefined)
    return undefined;
  if (!Array.isArray(proxies) || !proxies.every((each) => typeof each === 'string')) return undefined;
  if (![reason, by].every((text) => text === undefined || typeof text === 'string')) return undefined;
  return Object.freeze({
    revision,
    phase: phase as RolloutPhase,
    proxies,
    beganMs,
    untilMs,
    ...(reason === undefined ? {} : { reason: reason as string }),
    ...(by === undefined ? {} : { by: by as string }),
  });
}

/** The inverse of `readConfigRollout`. */
export function configRolloutBody({ stable, gates, files, trial }: ConfigRollout): object {
  if (trial === undefined) return { stable, gates, files };
  const { beganMs, untilMs, ...said } = trial;
  return { stable, gates, files, trial: { ...said, began_at: timestamp(beganMs), until: timestamp(untilMs) } };
}
