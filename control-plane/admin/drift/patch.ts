// A patch of the files in force that says what operators have set. What an operator may not see of the files is in no patch.

import { load, reloadBytes } from '../../../gitops/assemble/load-off-thread.ts';
import type { Override } from '../../../gitops/drift/override.ts';
import { checkedPatch } from '../../../gitops/drift/patch/checked-patch.ts';
import type { MayShow } from '../../../gitops/drift/patch/patch.ts';
import type { SourceFile } from '../../../gitops/read/read.ts';
import { shownText } from '../../../gitops/read/shown-text.ts';
import { filesInForce } from '../../files-in-force.ts';
import type { DifferenceParts } from '../config/differences.ts';

export interface PatchParts {
  readonly differences: Pick<DifferenceParts, 'settings' | 'ownFolder' | 'status'>;
  /** Those that this process knows: none of them is shown. */
  readonly secrets: () => readonly string[];
}

/** So many are listed of those that the patch leaves out. */
const mostLeftOut = 200;

/** The body of `schemas/admin/config-patch.schema.json`. */
export async function describePatch(
  { differences, secrets }: PatchParts,
  overrides: readonly Override[],
): Promise<object> {
  const { settings, ownFolder, status } = differences;
  const { revision = '' } = status() ?? {};
  const files = await filesInForce(settings.configDirectory, ownFolder, revision);
  const of = { config_revision: revision };
  if (files === undefined) {
    const problems = ['the files in force are not known here: the directory has changed, and there is no copy of them'];
    return { ...of, patch: '', files: [], taken: 0, left_out: [], complete: true, problems };
  }
  const { variables: environment, entitlements } = settings;
  const { text, changed, taken, leftOut, problems } = await checkedPatch(files, overrides, {
    mayShow: shownLines(files, secrets()),
    load: (all) => load(all, { environment, variables: 'keep', entitlements }, reloadBytes),
  });
  const isUsable = problems.length === 0;
  return {
    ...of,
    patch: isUsable ? text : '',
    files: isUsable ? changed : [],
    taken: isUsable ? taken.length : 0,
    left_out: leftOut.slice(0, mostLeftOut).map(({ override: { kind, id, name }, why }) => ({ kind, id, name, why })),
    complete: leftOut.length <= mostLeftOut,
    problems,
  };
}

/** A line may be shown when it is as an operator sees it: without a value that may be a secret, and without a comment. */
function shownLines(files: readonly SourceFile[], secrets: readonly string[]): MayShow {
  const known = new Map<string, readonly boolean[]>();
  const linesOf = (name: string): readonly boolean[] => {
    const file = files.find((each) => each.name === name);
    const shown = file && shownText(file, secrets)?.split('\n');
    const lines = file === undefined ? [] : new TextDecoder().decode(file.bytes).split('\n');
    // With another number of lines, none is known to be the same.
    if (shown?.length !== lines.length) return [];
    return lines.map((line, index) => line.trimEnd() === shown[index]?.trimEnd());
  };
  return (name, line) => {
    const lines = known.get(name) ?? linesOf(name);
    known.set(name, lines);
    return lines[line] === true;
  };
}
