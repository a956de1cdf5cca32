// Merges many files into one configuration and checks the sections against each other.
import { parseSelector } from '../schemas/selector.ts';
import type { Config } from '../schemas/types.ts';
import { formatPath, quote } from '../schemas/validation/path.ts';
import type { Variables } from '../schemas/variables.ts';
import type { AssembledConfig } from './assembled.ts';
import { checkAliases, targetsOf, type WrittenAlias } from './check-aliases.ts';
import { checkProviders } from './check-providers.ts';
import { checkRateLimits, checkTemplates } from './check-rate-limits.ts';
import { checkServer } from './check-server.ts';
import { readEnvironmentRules } from './environment-rules.ts';
import { checkGivenProviders, checkTokenCaps, overrule } from './overrule.ts';
import type { Problem } from './problem.ts';
import { locateIn, type Part, type Sources } from './sources.ts';
import { defaultConfig } from './validate.ts';

export interface Assembly {
  /** Absent when there are problems. */
  config?: AssembledConfig;
  problems: Problem[];
  warnings: Problem[];
}

/**
 * Merges the parts and cross-checks the result. `complete` says that every file of the directory is among the parts; when one is
 * missing because it is broken, nothing is said about references into it.
 *
 * Order: take the sections from the files, check the sections against each other, then leave out or replace entries. The files are
 * checked without the rules of environment variables, so that the result is the same on every machine.
 */
export function assemble(
  parts: readonly Part[],
  complete: boolean,
  { environment, entitlements }: { environment: Variables; entitlements: ReadonlySet<string> },
): Assembly {
  const config = defaultConfig();
  const { owners, contested, problems } = claimSections(parts, Object.keys(config));
  const warnings: Problem[] = [];
  const sources = locateIn(owners);
  for (const [section, { value, unsound }] of owners) {
    if (!unsound.has(section)) Object.assign(config, { [section]: value[section] });
  }

  const areProvidersKnown =
    !contested.has('providers') &&
    (owners.get('providers')?.unsound.has('providers') === false || (complete && !owners.has('providers')));
  const known = areProvidersKnown ? config.providers : undefined;
  const providers = checkProviders(config, sources);
  const aliases = checkAliases(config.aliases, known, sources);
  const limits = checkRateLimits(config.rate_limits, known, sources);
  problems.push(...checkServer(config.server, sources));
  problems.push(...checkTemplates(owners.get('rate_limits')?.value, entitlements, sources));
  const variables = readEnvironmentRules(environment, entitlements);
  for (const found of [providers, aliases, limits, variables]) {
    problems.push(...found.problems);
    warnings.push(...found.warnings);
  }
  if (known !== undefined) warnings.push(...checkGivenProviders(variables.given, known));
  if (problems.length > 0) return { problems, warnings };

  warnings.push(...overrule(config.rate_limits, variables, sources, owners.has('rate_limits')));
  warnings.push(...checkTokenCaps(config.rate_limits, variables));

  config.aliases = resolveAliases(config.aliases, providers.keyless, sources, warnings);
  const providerNames = namesInOrder(config.providers, owners.get('providers'));
  for (const name of providers.keyless) delete config.providers[name];
  const isPlain = providerNames.join() === Object.keys(config.providers).join();
  return { config: isPlain ? config : { ...config, providerNames }, problems, warnings };
}

/** The names in the order of the file. An object loses this order: it puts names that are whole numbers first. */
function namesInOrder(providers: Config['providers'], owner: Part | undefined): string[] {
  const names = Object.keys(providers);
  if (owner === undefined || !names.some((name) => /^[0-9]+$/.test(name))) return names;
  const places = names.map((name) => ({ name, ...owner.parsed.locate(['providers', name], 'key') }));
  places.sort((a, b) => a.line - b.line || a.column - b.column);
  return places.map(({ name }) => name);
}

/**
 * A top-level key may be in one file only; the first file keeps it. A key in two files is reported before all other problems. Nothing is
 * then concluded from what its first file lacks.
 */
function claimSections(
  parts: readonly Part[],
  sections: readonly string[],
): { owners: Map<string, Part>; contested: Set<string>; problems: Problem[] } {
  const owners = new Map<string, Part>();
  const contested = new Set<string>();
  const problems: Problem[] = [];
  for (const part of parts) {
    for (const section of sections.filter((name) => Object.hasOwn(part.parsed.value, name))) {
      const owner = owners.get(section);
      if (owner === undefined) {
        owners.set(section, part);
        continue;
      }
      const first = `${owner.parsed.file}:${owner.parsed.locate([section], 'key').line}`;
      const place = part.parsed.locate([section], 'key');
      const message = `the key ${quote(section)} is already in ${first}; a top-level key may be in one file only`;
      problems.push({ file: part.parsed.file, ...place, path: formatPath([section]), message, first: true });
      contested.add(section);
    }
  }
  return { owners, contested, problems };
}

/** Gives every alias its list of targets, without the targets of providers that are left out. */
function resolveAliases(
  written: readonly WrittenAlias[],
  keyless: ReadonlySet<string>,
  sources: Sources,
  warnings: Problem[],
): Config['aliases'] {
  const resolved: Config['aliases'] = [];
  written.forEach((alias, index) => {
    const targets: Config['aliases'][number]['targets'] = [];
    for (const { model, weight, path } of targetsOf(alias, index)) {
      const provider = parseSelector(model)?.provider;
      if (provider === undefined || !keyless.has(provider)) targets.push({ model, weight });
      else warnings.push(sources.problem(path, `is dropped, because the provider ${quote(provider)} is left out`));
    }
    const { source, strategy } = alias;
    if (targets.length > 0) resolved.push({ source, targets, strategy });
    else
      warnings.push(
        sources.problem(
          ['aliases', index],
          `the alias ${sources.quoted(['aliases', index, 'source'])} is left out, because it has no target left`,
        ),
      );
  });
  return resolved;
}
