// What a comparison of git with what runs has found. Pure.
import { parseMoment } from '../../../schemas/formats/moment.ts';
import { type FailCondition, type Measures, sayLength } from '../../gate/conditions.ts';
import type { Override, OverrideKind } from '../override.ts';

interface Rejected {
  readonly revision?: string;
  readonly since?: string;
  readonly problems: readonly string[];
}

/** The answer of GET /admin/config/drift; see `schemas/admin/drift.schema.json`. */
export interface Running {
  readonly server_time: string;
  readonly stale?: true;
  readonly control_plane: {
    readonly config_revision: string;
    readonly config_source: string;
    readonly applied_at: string | null;
    readonly rejected: Rejected | null;
  };
  readonly proxies: readonly {
    readonly instance: string;
    readonly config_revision: string;
    readonly config_source: string;
    readonly differs_since?: string;
    readonly environment_matches: boolean;
    readonly rejected: Rejected | null;
  }[];
  readonly silent_proxies: number;
  readonly overrides: {
    readonly total: number;
    readonly issued_keys: number;
    readonly kinds: readonly { readonly kind: OverrideKind; readonly count: number; readonly oldest_at?: string }[];
    readonly oldest_at?: string;
    readonly in_git: number;
    readonly rows: readonly (Omit<Override, 'entry'> & { readonly declarable: boolean })[];
    readonly complete: boolean;
  };
}

/** What git says. */
export interface Wanted {
  readonly directory: string;
  /** Undefined: the directory as it lies there. */
  readonly ref?: string;
  readonly revision: string;
}

/** A revision that runs and is not git's. */
export interface OtherRevision {
  readonly revision: string;
  /** The commit that has it, and how many later ones changed the directory; absent when no commit that was looked at has it. */
  readonly commit?: string;
  readonly behind?: number;
  /** What git changes over it, a sentence each; absent when it is not known. */
  readonly changes?: readonly string[];
}

/** The control plane, or a proxy. */
export interface Plane {
  readonly name: string;
  readonly revision: string;
  readonly source: string;
  readonly same: boolean;
  /** Milliseconds for which it was seen behind the control plane, or since when the control plane has its revision. */
  readonly for_ms?: number;
  readonly environment_matches: boolean;
  readonly rejected: Rejected | null;
}

export interface DriftReport {
  readonly git: Wanted;
  readonly server_time: string;
  readonly stale: boolean;
  readonly planes: readonly Plane[];
  readonly silent_proxies: number;
  readonly other_revisions: readonly OtherRevision[];
  readonly overrides: Omit<Running['overrides'], 'rows'> & {
    /** The oldest first. */
    readonly rows: readonly (Running['overrides']['rows'][number] & { readonly age_ms?: number })[];
    readonly oldest_ms: number;
  };
  /** Conditions of `--fail-on` that hold, a sentence each. */
  readonly failed: readonly string[];
}

export const driftMeasures: Measures<Omit<DriftReport, 'failed'>> = {
  revision: { amount: ({ planes }) => planes.filter(({ same }) => !same).length },
  rejected: { amount: ({ planes }) => planes.filter(({ rejected }) => rejected !== null).length },
  environment: { amount: ({ planes }) => planes.filter((plane) => !plane.environment_matches).length },
  overrides: { amount: ({ overrides }) => overrides.total },
  age: { amount: ({ overrides }) => overrides.oldest_ms, isTime: true },
  keys: { amount: ({ overrides }) => overrides.issued_keys },
};

export interface Compared {
  readonly git: Wanted;
  readonly running: Running;
  readonly others: readonly OtherRevision[];
}

export function driftReport(
  { git, running, others }: Compared,
  failOn: readonly FailCondition<Omit<DriftReport, 'failed'>>[],
): DriftReport {
  const { server_time: time, overrides } = running;
  const nowMs = timeOf(time);
  const ageOf = (since: string | undefined): { readonly age_ms?: number } =>
    since === undefined ? {} : { age_ms: Math.max(0, nowMs - timeOf(since)) };
  const rows = overrides.rows.map((row) => ({ ...row, ...ageOf(row.created_at) }));
  const found = {
    git,
    server_time: time,
    stale: running.stale === true,
    planes: planesOf(git.revision, running, nowMs),
    silent_proxies: running.silent_proxies,
    other_revisions: others,
    overrides: {
      ...overrides,
      rows: rows.sort((one, other) => (other.age_ms ?? 0) - (one.age_ms ?? 0)),
      oldest_ms: ageOf(overrides.oldest_at).age_ms ?? 0,
    },
  };
  const failed = failOn.flatMap(({ text, check }) => {
    const { holds, found: amount } = check(found);
    return holds ? [`${text} (it is ${amount})`] : [];
  });
  return { ...found, failed };
}

/** The control plane first. */
function planesOf(wanted: string, { control_plane: own, proxies }: Running, nowMs: number): Plane[] {
  const forMs = (since: string | null | undefined): { readonly for_ms?: number } =>
    since === null || since === undefined ? {} : { for_ms: Math.max(0, nowMs - timeOf(since)) };
  return [
    {
      name: 'control plane',
      revision: own.config_revision,
      source: own.config_source,
      same: own.config_revision === wanted,
      ...forMs(own.applied_at),
      environment_matches: true,
      rejected: own.rejected,
    },
    ...proxies.map((proxy) => ({
      name: proxy.instance,
      revision: proxy.config_revision,
      source: proxy.config_source,
      same: proxy.config_revision === wanted,
      ...forMs(proxy.differs_since),
      environment_matches: proxy.environment_matches,
      rejected: proxy.rejected,
    })),
  ];
}

/** Unix milliseconds. */
function timeOf(moment: string): number {
  return parseMoment(moment) ?? 0;
}

/** One sentence for the whole. */
export function headline({ planes, overrides, silent_proxies: silent }: DriftReport): string {
  const others = planes.filter(({ same }) => !same);
  const proxies = planes.length - 1;
  const said = [
    ...(others.length === 0
      ? []
      : [
          others.length === planes.length
            ? 'nothing runs what git says'
            : `${others.map(({ name }) => name).join(', ')} ${others.length === 1 ? 'does' : 'do'} not run what git says`,
        ]),
    ...(planes.some(({ rejected }) => rejected !== null) ? ['a revision is rejected'] : []),
    ...(planes.some((plane) => !plane.environment_matches) ? ['the environments of proxies differ'] : []),
    ...(overrides.total === 0
      ? []
      : [
          `${overrides.total} ${overrides.total === 1 ? 'override' : 'overrides'} outside git, the oldest ${sayLength(overrides.oldest_ms)}`,
        ]),
    ...(proxies === 0 ? ['no proxy is live'] : []),
    ...(silent === 0 ? [] : [`${silent} ${silent === 1 ? 'proxy is' : 'proxies are'} silent`]),
  ];
  return said.length === 0
    ? 'No drift: everything runs what git says, and nothing is set outside it.'
    : `Drift: ${said.join('; ')}.`;
}
