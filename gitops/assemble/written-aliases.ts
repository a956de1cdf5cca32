// Aliases as the files declare them, before they are assembled, and what else the files declare.
import type { AliasTargets } from '../../domain/aliases/name-table.ts';
import type { Alias, Config } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import type { Problem } from '../read/problem.ts';

/** An alias as the document has it: `target` is short for one entry of `targets`. */
export interface WrittenAlias extends Omit<Alias, 'targets'> {
  target?: string;
  targets?: Alias['targets'];
}

/** The names that the readable files declare. */
export interface KnownNames {
  providers: Config['providers'];
  /** The prices of models. */
  usage: Config['usage'];
  aliases: readonly WrittenAlias[];
  /** Whether these are all providers; if not, nothing is said about providers and models that are missing. */
  areComplete: boolean;
  /** Whether these are all aliases. */
  areAliasesComplete: boolean;
}

export interface AliasFindings {
  problems: Problem[];
  warnings: Problem[];
}

/** An alias with its index in the document. */
export interface IndexedAlias extends AliasTargets {
  readonly index: number;
  readonly written: WrittenAlias;
}

/** One target of an alias, and the path of its model. */
export type WrittenTarget = Alias['targets'][number] & { readonly path: Path };

/** Every target of an alias with the path where it is written. */
export function targetsOf(alias: WrittenAlias, index: number): WrittenTarget[] {
  const { target, targets } = alias;
  if (target !== undefined) return [{ model: target, weight: 1, path: ['aliases', index, 'target'] }];
  return (targets ?? []).map((each, position) => ({
    ...each,
    path: ['aliases', index, 'targets', position, 'model'],
  }));
}

/** Every target of an alias, as one entry of a list. */
export function listedTargets({ target, targets }: WrittenAlias): Alias['targets'] {
  return target === undefined ? (targets ?? []) : [{ model: target, weight: 1 }];
}
