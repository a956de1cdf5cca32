// The configuration in force as it is written, for explanations: a snapshot has only what a request needs.

import type { MergedAlias } from '../../domain/aliases/merge-aliases.ts';
import type { MergedRule } from '../../domain/rules/merge.ts';
import type { RulePrerequisites } from '../../domain/rules/obstacle.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';

/** Another object whenever something of it changes. */
export interface InForce {
  /** Without the aliases of operators. */
  readonly config: AssembledConfig;
  /** Those of operators included, and those that are not in force. */
  readonly aliases: readonly MergedAlias[];
  /** Sorted; those that are not enforced included. */
  readonly rules: readonly MergedRule[];
  readonly prerequisites: RulePrerequisites;
}
