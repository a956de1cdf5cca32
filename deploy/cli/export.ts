// `model-gateway export`: what operators have set outside git, as YAML for git.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { managedYaml } from '../../gitops/cli/managed-yaml.ts';
import type { Override } from '../../gitops/drift/override.ts';
import { connectionHelp, connectionOptions } from './admin-api.ts';
import type { Outcome } from './commands.ts';
import { exportPatch, readOverrides } from './export-patch.ts';
import { exportTraffic } from './export-traffic.ts';

export const exportUsage =
  '[keys] [DIR] [--force] | --patch [DIR] | traffic FILE [--since WHEN] [--share 0.1] [--salt-file FILE]';
export const exportHelp = `usage: model-gateway export [DIR] [--force] [--url URL]
       model-gateway export keys [DIR] [--force] [--url URL]
       model-gateway export --patch [DIR] [--url URL]
       model-gateway export traffic FILE [--since WHEN] [--until WHEN] [--share 0.1] [--salt-file FILE] [--force] [--url URL]

Prints the rules, budgets, budget windows, aliases and guardrails that operators have set with the admin API and that hold now, as YAML for the
configuration, each with its author, reason and end in a comment; what the configuration cannot say, such as a block or a drained target, is a
comment. With DIR it writes them to DIR/manual.yaml, and the issued keys to DIR/issued-keys.yaml. Once they are in git and live, delete them at
the admin API: until then they go on winning over the configuration.

With keys it prints the issued keys that are let in, with the hash of each secret and never a secret, or writes them to DIR/issued-keys.yaml. The
same secrets are let in then, under the ids of the configuration (config:NAME); delete the issued keys once the entries are live.

With --patch it prints all of this as a patch for git apply: an entry that is there is changed in its place, with the comments and the layout around it,
and what is new comes into the file of its subject, or into a new one. With DIR the patch is made against the files there; without it, against the
files in force, and a line that may hold a secret or a comment is in no patch. What it leaves out, and why, stands at its top.

With traffic it writes the requests that were recorded, a line each and without bodies, for model-gateway plan; a name that ends in .gz is packed. It
takes the last 24 hours, or from --since (a moment such as 2026-03-31T00:00:00Z, or a length back from now such as 7d) to --until.

  --force           replaces a file that exists
  --share           takes only this share of the requests, always the same ones; the plan says so, and scales
  --salt-file FILE  replaces user paths, keys, labels and sessions by hashes with this salt, so that the file may lie in a repository: plan takes
                    the same option, and shows the names that its configurations name
  --without-overrides  leaves out what operators have set, which plan replays, too
${connectionHelp}

exit code: 0 done, 1 not done, 2 the command itself is wrong`;

const options = {
  ...connectionOptions,
  force: { type: 'boolean', default: false },
  patch: { type: 'boolean', default: false },
} as const;

const nothing = {
  set: '# Operators have set nothing outside git.\n{}\n',
  keys: '# Operators have issued no key that is not declared yet.\n{}\n',
};

export async function exportManaged(args: readonly string[]): Promise<Outcome> {
  if (args[0] === 'traffic') return exportTraffic(args.slice(1));
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const isOfKeys = positionals[0] === 'keys';
  const [folder, ...others] = isOfKeys ? positionals.slice(1) : positionals;
  if (others.length > 0) return { output: `usage: model-gateway export ${exportUsage}`, code: 2 };
  if (values.patch)
    return isOfKeys ? { output: '--patch has the keys, too', code: 2 } : exportPatch(folder, values.url);
  const overrides = await readOverrides(values.url);
  const [set, keys] = [false, true].map((isKey) => overrides.filter(({ kind }) => (kind === 'key') === isKey));
  const texts = { set: yamlOf(set ?? [], nothing.set), keys: yamlOf(keys ?? [], nothing.keys) };
  if (folder === undefined) return { output: (isOfKeys ? texts.keys : texts.set).trimEnd(), code: 0 };
  const files = [
    ...(isOfKeys ? [] : [[join(folder, 'manual.yaml'), texts.set] as const]),
    ...(isOfKeys || keys?.length !== 0 ? [[join(folder, 'issued-keys.yaml'), texts.keys] as const] : []),
  ];
  const taken = files.filter(([file]) => existsSync(file)).map(([file]) => file);
  if (taken.length > 0 && !values.force)
    return { output: taken.map((file) => `${file} exists; --force replaces it`).join('\n'), code: 1 };
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of files) writeFileSync(file, text);
  return { output: files.map(([file]) => `written: ${file}`).join('\n'), code: 0 };
}

function yamlOf(overrides: readonly Override[], empty: string): string {
  return overrides.length === 0 ? empty : managedYaml(overrides);
}
