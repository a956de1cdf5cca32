// Starts a plane: settings, configuration, address. When one of them has problems, one line for each says what is wrong and what to do,
// in words on a terminal and in JSON elsewhere, and the process ends with status 1.
import { join } from 'node:path';
import type { AssembledConfig } from '../gitops/assemble/assembled.ts';
import { ConfigRejected } from '../gitops/follow/config-rejected.ts';
import type { ConfigEvent } from '../gitops/follow/config-status.ts';
import type { Vaults } from '../gitops/follow/fetched-secret.ts';
import { type Follower, followConfig } from '../gitops/follow/follow.ts';
import { followClientKeys } from '../gitops/follow/follow-client-keys.ts';
import { followConfigAndKeys } from '../gitops/follow/follow-keys.ts';
import { followListener } from '../gitops/follow/follow-listener.ts';
import type { FollowOptions } from '../gitops/follow/follow-options.ts';
import { recallLastGood } from '../gitops/follow/last-good.ts';
import { formatProblem, type Problem, problemFields } from '../gitops/read/problem.ts';
import { revisionOf } from '../gitops/read/read.ts';
import type { Variables } from '../schemas/variables.ts';
import type { EnvironmentReading, PlaneSettings } from './environment.ts';
import type { Identity } from './identity.ts';
import { LineWriter } from './line-writer.ts';
import { createLog } from './log.ts';
import { type Log, logConfigEvent } from './log-events.ts';

/** Writes one line per problem to stderr and ends the process. */
export function exitAtStart(identity: Identity, problems: readonly (string | Problem)[]): never {
  const { stderr } = process;
  const name = identity.plane.replace('-', ' ');
  const said = problems.map((problem) => {
    const isPlain = typeof problem === 'string';
    const text = `${name} cannot start: ${isPlain ? problem : formatProblem(problem)}`;
    return { text, fields: isPlain ? {} : problemFields(problem) };
  });
  const writer = new LineWriter(stderr.fd);
  const log = createLog(identity, 'fatal', writer);
  for (const { text, fields } of said) {
    if (stderr.isTTY) writer.write(`${text}\n`);
    else log.fatal(fields, text);
  }
  writer.end();
  process.exit(1);
}

/** The settings of a plane. With problems it ends the process. */
export function settingsOrExit<Settings>(identity: Identity, reading: EnvironmentReading<Settings>): Settings {
  if ('problems' in reading) exitAtStart(identity, reading.problems);
  return reading.environment;
}

export interface PlaneConfig {
  readonly settings: Pick<PlaneSettings, 'configDirectory' | 'entitlements'> & { readonly variables: Variables };
  /** `keep` leaves variables and references in provider settings as written, and reads no `api_key_file`. */
  readonly variables: 'expand' | 'keep';
  /** Folder for this process's copy of the last good configuration. */
  readonly ownFolder: string;
  /** Where secrets of references are fetched; absent: none is. */
  readonly vaults?: Vaults;
  /** What stands in place of the directory; absent: nothing ever does. */
  readonly given?: FollowOptions['given'];
  readonly nowMs: () => number;
  readonly log: Log;
  /** Puts a configuration in force; when it throws, the configuration counts as rejected. */
  readonly apply: (config: AssembledConfig, revision: string) => void;
  /** Hears of each event, behind the log. */
  readonly hear?: (event: ConfigEvent) => void;
}

/** Where a process keeps its copy of the last good configuration. */
export function lastGoodFolder(ownFolder: string): string {
  return join(ownFolder, 'last-good');
}

/** The revision that this process had in force when it ended; empty: there is no copy of it. */
export async function lastRevision({
  settings,
  ownFolder,
}: Pick<PlaneConfig, 'settings' | 'ownFolder'>): Promise<string> {
  const { lastGood } = await recallLastGood(lastGoodFolder(ownFolder), settings.configDirectory);
  return lastGood === undefined ? '' : revisionOf(lastGood.hash);
}

/** Follows the configuration directory; resolves when a configuration is in force, or ends the process when there is none. */
export async function followConfigOrExit(identity: Identity, config: PlaneConfig): Promise<Follower> {
  const { settings, variables, ownFolder, vaults, given, nowMs, log, apply, hear } = config;
  try {
    const followKeys = (options: FollowOptions): Promise<Follower> =>
      followClientKeys(variables === 'expand' ? followConfigAndKeys : followConfig, options);
    const options = {
      directory: settings.configDirectory,
      environment: settings.variables,
      variables,
      entitlements: settings.entitlements,
      lastGoodFolder: lastGoodFolder(ownFolder),
      nowMs,
      ...(vaults === undefined ? {} : { vaults }),
      ...(given === undefined ? {} : { given }),
      apply,
      report(event) {
        logConfigEvent(log, event);
        hear?.(event);
      },
    } satisfies FollowOptions;
    return await followListener(followKeys, options, identity.plane === 'proxy' ? 'server' : 'admin');
  } catch (error) {
    if (!(error instanceof ConfigRejected)) throw error;
    return exitAtStart(identity, error.problems);
  }
}

/** The address that a server should listen on. */
export interface ListenPlace {
  readonly host: string;
  readonly port: number;
  /** The variables `<prefix>_HOST` and `<prefix>_PORT` set this address. */
  readonly prefix: string;
}

/** The result of `listening`. When it rejects, the process ends. */
export async function listenOrExit<Bound>(
  identity: Identity,
  place: ListenPlace,
  listening: Promise<Bound>,
): Promise<Bound> {
  try {
    return await listening;
  } catch (error) {
    return exitAtStart(identity, [explainListen(error as NodeJS.ErrnoException, place)]);
  }
}

/** A sentence that says why the listen failed and what to change. */
function explainListen(error: NodeJS.ErrnoException, { host, port, prefix }: ListenPlace): string {
  if (error.code === 'EADDRINUSE') return `port ${port} on ${host} is in use; set ${prefix}_PORT to a free port`;
  if (error.code === 'EACCES') return `port ${port} on ${host} is not allowed; set ${prefix}_PORT above 1023`;
  return `cannot listen on ${host}: ${error.message}; check ${prefix}_HOST`;
}
