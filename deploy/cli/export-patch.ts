// `model-gateway export --patch`: what operators have set, as a patch for `git apply`.
import type { Override, OverrideKind } from '../../gitops/drift/override.ts';
import { parseList } from '../../schemas/variables.ts';
import { askAdmin } from './admin-api.ts';
import type { Outcome } from './commands.ts';

/** The answer of GET /admin/config/patch. */
interface GivenPatch {
  readonly patch: string;
  readonly left_out: readonly { readonly kind: OverrideKind; readonly name: string; readonly why: string }[];
  readonly problems: readonly string[];
}

/** Against the files in `directory`; without it, against those in force. */
export async function exportPatch(directory: string | undefined, url: string | undefined): Promise<Outcome> {
  const { sayLeftOut } = await import('../../gitops/drift/patch/checked-patch.ts');
  const made =
    directory === undefined
      ? ((await askAdmin(url, { path: 'config/patch' })) as GivenPatch)
      : await patchHere(directory, await readOverrides(url));
  const { patch, left_out: leftOut, problems } = made;
  if (problems.length > 0)
    return { output: `no patch: the files would hold mistakes\n${problems.join('\n')}`, code: 1 };
  const text = patch === '' ? '# There is nothing to put into git.\n' : patch;
  // The last line may be a blank of the context.
  return { output: `${sayLeftOut(leftOut)}${text}`.replace(/\n$/, ''), code: 0 };
}

async function patchHere(directory: string, overrides: readonly Override[]): Promise<GivenPatch> {
  // Reading a configuration takes more code than the other commands.
  const { checkedPatch } = await import('../../gitops/drift/patch/checked-patch.ts');
  const { loadFiles } = await import('../../gitops/assemble/load.ts');
  const { loadParsers } = await import('../../gitops/assemble/load-parsers.ts');
  const { gitOf } = await import('../../gitops/cli/git-tree.ts');
  const { formatProblem } = await import('../../gitops/read/problem.ts');
  const { readDirectory } = await import('../../gitops/read/read.ts');
  const { files, problems: unreadable } = await readDirectory(directory);
  if (unreadable.length > 0) return { patch: '', left_out: [], problems: unreadable.map(formatProblem) };
  // Outside of a repository, paths begin at the directory.
  const prefix = await gitOf(process.env)(directory, ['rev-parse', '--show-prefix']).catch(() => '');
  const entitlements = new Set(parseList(process.env['GATEWAY_ENTITLEMENTS'] ?? ''));
  const { text, leftOut, problems } = await checkedPatch(files, overrides, {
    mayShow: () => true,
    prefix: prefix.trimEnd(),
    async load(all) {
      await loadParsers(all);
      return loadFiles(all, { environment: process.env, variables: 'warning', entitlements });
    },
  });
  const said = leftOut.map(({ override: { kind, name }, why }) => ({ kind, name, why }));
  return { patch: text, left_out: said, problems };
}

/** What operators have set and holds now. */
export async function readOverrides(url: string | undefined): Promise<readonly Override[]> {
  const { overrides } = (await askAdmin(url, { path: 'config/overrides' })) as { readonly overrides: Override[] };
  return overrides;
}
