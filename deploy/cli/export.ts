// `model-gateway export`: what operators have set outside git, as YAML for git.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { issuedKeysYaml, type ListedKey } from '../../gitops/cli/keys-yaml.ts';
import { type Managed, managedYaml } from '../../gitops/cli/managed-yaml.ts';
import { askAdmin, connectionHelp, connectionOptions } from './admin-api.ts';
import type { Outcome } from './commands.ts';
import { exportTraffic } from './export-traffic.ts';

export const exportUsage = '[keys] [DIR] [--force] | traffic FILE [--since WHEN] [--share 0.1] [--salt-file FILE]';
export const exportHelp = `usage: model-gateway export [DIR] [--force] [--url URL]
       model-gateway export keys [DIR] [--force] [--url URL]
       model-gateway export traffic FILE [--since WHEN] [--until WHEN] [--share 0.1] [--salt-file FILE] [--force] [--url URL]

Prints the rules, budgets, aliases and guardrails that operators have set with the admin API, as YAML for the configuration, each with its
author, reason and end in a comment. With DIR it writes them to DIR/manual.yaml. Once they are in git and live, delete them
at the admin API: until then they go on winning over the configuration.

With keys it prints the issued keys that are let in, with the hash of each secret and never a secret, or writes them to DIR/issued-keys.yaml. The
same secrets are let in then, under the ids of the configuration (config:NAME); delete the issued keys once the entries are live.

With traffic it writes the requests that were recorded, a line each and without bodies, for model-gateway plan; a name that ends in .gz is packed. It
takes the last 24 hours, or from --since (a moment such as 2026-03-31T00:00:00Z, or a length back from now such as 7d) to --until.

  --force           replaces a file that exists
  --share           takes only this share of the requests, always the same ones; the plan says so, and scales
  --salt-file FILE  replaces user paths, keys, labels and sessions by hashes with this salt, so that the file may lie in a repository: plan takes
                    the same option, and shows the names that its configurations name
${connectionHelp}

exit code: 0 done, 1 not done, 2 the command itself is wrong`;

const options = { ...connectionOptions, force: { type: 'boolean', default: false } } as const;

export async function exportManaged(args: readonly string[]): Promise<Outcome> {
  if (args[0] === 'traffic') return exportTraffic(args.slice(1));
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const isOfKeys = positionals[0] === 'keys';
  const [folder, ...others] = isOfKeys ? positionals.slice(1) : positionals;
  if (others.length > 0) return { output: `usage: model-gateway export ${exportUsage}`, code: 2 };
  const text = isOfKeys ? issuedKeysYaml(await readKeys(values.url)) : managedYaml(await readManaged(values.url));
  if (folder === undefined) return { output: text.trimEnd(), code: 0 };
  const file = join(folder, isOfKeys ? 'issued-keys.yaml' : 'manual.yaml');
  if (existsSync(file) && !values.force) return { output: `${file} exists; --force replaces it`, code: 1 };
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, text);
  return { output: `written: ${file}`, code: 0 };
}

async function readKeys(url: string | undefined): Promise<readonly ListedKey[]> {
  return (await askAdmin(url, { path: 'auth-keys?hashes=true' })) as readonly ListedKey[];
}

async function readManaged(url: string | undefined): Promise<Managed> {
  const lists = (await askAdmin(url, { path: 'config?lists=rate_limits,budgets,aliases' })) as Omit<
    Managed,
    'guardrails'
  >;
  const { guardrails } = (await askAdmin(url, { path: 'guardrails' })) as Pick<Managed, 'guardrails'>;
  return { ...lists, guardrails };
}
