// The merged rules of this process, which are asked for again and again.

import { MergedRules, type MergedSources } from '../../../domain/documents/merged-rules.ts';
import type { MergedRule } from '../../../domain/rules/merge.ts';

const last = new MergedRules();

/** Sorted. The same list as last time while nothing has changed. */
export function mergedRules(sources: MergedSources): readonly MergedRule[] {
  return last.at(sources);
}
