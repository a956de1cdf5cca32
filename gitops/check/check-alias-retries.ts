// Checks of what an alias says of failures: settings that can never help.
import type { Flattened } from '../../domain/aliases/flatten.ts';
import type { AliasTargets, NamedAlias } from '../../domain/aliases/name-table.ts';
import { durationMs } from '../../schemas/formats/units.ts';
import type { Config } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { AliasFindings, IndexedAlias } from '../assemble/written-aliases.ts';

interface Known {
  readonly providers: Config['providers'];
  readonly sources: Sources;
  readonly flatten: (alias: AliasTargets) => Flattened | undefined;
  readonly warnings: AliasFindings['warnings'];
}

/** Warns where another target is never asked, although the alias has one. `meant`: the alias, or what its family stands for. */
export function checkRetries(
  { index, written }: IndexedAlias,
  meant: readonly NamedAlias[],
  { providers, sources, flatten, warnings }: Known,
): void {
  const { retry, hedge } = written;
  const leaves = meant.map((alias) => flatten(alias)?.leaves ?? []).find(({ length }) => length > 1);
  if (retry === undefined || leaves === undefined) return;
  const warn = (key: keyof typeof retry, message: string): void =>
    void warnings.push(sources.problem(['aliases', index, 'retry', key], message));
  if (retry.on.length === 0) warn('on', 'is empty, so no other target is asked when the first one fails');
  if (retry.attempts === 1) {
    const never = hedge ? 'neither a retry nor a hedge is ever made' : 'no other target is ever asked';
    warn('attempts', `allows one call, so ${never}`);
  }
  if (retry.deadline === undefined) return;
  const endMs = durationMs(retry.deadline);
  for (const name of new Set(leaves.slice(0, -1).map(({ provider }) => provider))) {
    const { connect } = providers[name]?.timeouts ?? {};
    if (connect === undefined || durationMs(connect) < endMs) continue;
    warn(
      'deadline',
      `is over when ${quote(name)} could not be reached (timeouts.connect is ${connect}): then no other target is asked`,
    );
    return;
  }
}
