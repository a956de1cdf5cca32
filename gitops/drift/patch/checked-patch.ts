// A patch, and whether the gateway would take the files once it is applied.
import { formatProblem, type Problem } from '../../read/problem.ts';
import type { SourceFile } from '../../read/read.ts';
import { type Override, type OverrideKind, overrideNouns } from '../override.ts';
import { oneLine } from '../said.ts';
import { type Patch, type PatchOptions, patchOf } from './patch.ts';

export interface CheckedPatch extends Patch {
  /** The mistakes of the files with the patch, a line each; empty when there are none. */
  readonly problems: readonly string[];
}

/** `load`: what the gateway says of files. */
export async function checkedPatch(
  files: readonly SourceFile[],
  overrides: readonly Override[],
  {
    load,
    ...options
  }: PatchOptions & {
    readonly load: (files: readonly SourceFile[]) => Promise<{ readonly problems: readonly Problem[] }>;
  },
): Promise<CheckedPatch> {
  const patch = patchOf(files, overrides, options);
  if (patch.text === '') return { ...patch, problems: [] };
  const { problems } = await load(patch.files);
  return { ...patch, problems: problems.map(formatProblem) };
}

/** What a patch leaves out, as lines that git passes over. */
export function sayLeftOut(
  leftOut: readonly { readonly kind: OverrideKind; readonly name: string; readonly why: string }[],
): string {
  return leftOut
    .map(({ kind, name, why }) => `# left out: ${overrideNouns[kind][0]} ${oneLine(name)}: ${oneLine(why)}\n`)
    .join('');
}
