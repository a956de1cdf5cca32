// Makes one configuration of many files: merges them and checks the sections against each other.
import type { Config } from '../../schemas/types.ts';
import { checkAliases } from '../check/check-aliases.ts';
import { checkAudit } from '../check/check-audit.ts';
import { checkBudgets, checkPrices } from '../check/check-budgets.ts';
import { checkCache } from '../check/check-cache.ts';
import { checkClientKeys, checkEndsOfKeys } from '../check/check-client-keys.ts';
import { checkDeprecations } from '../check/check-deprecations.ts';
import { checkGuardrails } from '../check/check-guardrails.ts';
import { checkCertificates, checkIdentities } from '../check/check-identities.ts';
import { checkModelNames } from '../check/check-model-names.ts';
import { checkPathSpelling } from '../check/check-path-spelling.ts';
import { checkPlainPrices } from '../check/check-plain-prices.ts';
import { checkProviders } from '../check/check-providers.ts';
import { checkRateLimits, checkTemplates } from '../check/check-rate-limits.ts';
import { checkServer } from '../check/check-server.ts';
import { checkSignIns } from '../check/check-sign-ins.ts';
import { checkUserPaths } from '../check/check-user-paths.ts';
import { checkWrittenSecrets } from '../check/check-written-secrets.ts';
import type { Problem } from '../read/problem.ts';
import { assembleAliases } from './assemble-aliases.ts';
import type { AssembledConfig, ClientKeyFile } from './assembled.ts';
import { readEnvironmentBudgets } from './environment-budgets.ts';
import { readEnvironmentRules } from './environment-rules.ts';
import { listenersOf } from './listeners.ts';
import type { LoadContext } from './load-context.ts';
import { mergeParts } from './merge-parts.ts';
import { checkGivenProviders, checkTokenCaps, overrule } from './overrule.ts';
import { overruleBudgets } from './overrule-budgets.ts';
import { placesOf } from './places.ts';
import { checkSecretTexts, secretTextsOf } from './secret-texts.ts';
import type { Part, Sources } from './sources.ts';

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
 * Order: merge the files, check the sections against each other, then leave out or replace entries. The files are checked without the
 * rules of environment variables, so that the result is the same on every machine.
 */
export function assemble(parts: readonly Part[], complete: boolean, context: LoadContext): Assembly {
  const { environment, entitlements } = context;
  const { config, sources, problems, providerNames, isDeclared, isUnsound } = mergeParts(parts);
  const warnings: Problem[] = [];

  const areComplete = complete && !isUnsound('providers');
  const areAliasesComplete = complete && !isUnsound('aliases');
  const { providers: named, aliases: written, usage } = config;
  const known = { providers: named, usage, aliases: written, areComplete, areAliasesComplete };
  const providers = checkProviders(config, sources, context);
  for (const { lacking } of parts) for (const name of lacking) providers.keyless.add(name);
  const aliases = checkAliases(config.aliases, known, sources);
  const limits = checkRateLimits(config.rate_limits, known, sources);
  problems.push(...checkServer(config.server, sources), ...checkAudit(config.audit, sources));
  problems.push(...checkCache(config.cache, sources));
  problems.push(...checkTemplates(parts, entitlements), ...checkBudgets(config.budgets, sources));
  problems.push(...checkGuardrails(config.guardrails, sources), ...checkClientKeys(config.keys, sources));
  const secretTexts = secretTextsOf(
    config,
    sources,
    parts.some(({ secrets }) => secrets.size > 0),
  );
  problems.push(...checkSecretTexts(secretTexts, environment));
  const variables = readEnvironmentRules(environment, entitlements);
  const givenBudgets = readEnvironmentBudgets(environment, entitlements);
  const identities = checkIdentities(config.identities, sources);
  const certificates = checkCertificates(config.server, sources);
  problems.push(...checkSignIns(config.identities, sources));
  for (const found of [providers, aliases, limits, identities, certificates, variables, givenBudgets]) {
    problems.push(...found.problems);
    warnings.push(...found.warnings);
  }
  if (known.areComplete) warnings.push(...checkGivenProviders(variables.given, known.providers));
  if (areComplete && areAliasesComplete) {
    warnings.push(...checkModelNames(config, { providers: named, aliases: written, providerNames }, sources));
  }
  if (problems.length > 0) return { problems, warnings };

  context.examine?.({ config, sources, providerNames });
  warnings.push(...checkUserPaths(config, variables.given, sources), ...checkPathSpelling(config, sources));
  warnings.push(...checkPlainPrices(config, sources), ...checkWrittenSecrets(config, sources));
  if (context.today !== undefined) {
    warnings.push(...checkDeprecations(config, context.today, sources));
    warnings.push(...checkEndsOfKeys(config.keys, context.today, sources));
  }
  const places = placesOf(
    { ...config, providerNames },
    { rules: variables.given, budgets: givenBudgets.given },
    sources,
  );
  warnings.push(...overrule(config.rate_limits, variables, sources, isDeclared('rate_limits')));
  warnings.push(...checkTokenCaps(config.rate_limits, variables));
  warnings.push(...checkPrices(config, sources));
  const budgetContext = { isDeclared: isDeclared('budgets'), usageEnabled: variables.usageEnabled };
  warnings.push(...overruleBudgets(config.budgets, givenBudgets, sources, budgetContext));

  for (const name of providers.keyless) delete config.providers[name];
  const isPartial = areComplete && providers.keyless.size > 0;
  const assembledAliases = assembleAliases(config.aliases, { offer: { ...config, providerNames }, isPartial }, sources);
  config.aliases = assembledAliases.aliases;
  warnings.push(...assembledAliases.warnings);
  const isPlain = providerNames.join() === Object.keys(config.providers).join();
  const inForce = secretTexts.filter(({ section, name }) => section !== 'providers' || !providers.keyless.has(name));
  const clientKeyFiles = clientKeyFilesOf(config.keys, sources);
  const listeners = listenersOf(config, sources);
  const assembled = {
    ...config,
    ...(isPlain ? {} : { providerNames }),
    ...(inForce.length === 0 ? {} : { secretTexts: inForce }),
    ...(clientKeyFiles.length === 0 ? {} : { clientKeyFiles }),
    ...(listeners.length === 0 ? {} : { listeners }),
    ...(assembledAliases.dropped.length === 0 ? {} : { droppedTargets: assembledAliases.dropped }),
    places,
  };
  return { config: assembled, problems, warnings };
}

function clientKeyFilesOf(keys: Config['keys'], sources: Sources): ClientKeyFile[] {
  return keys.flatMap(({ name, value_file: path }, index) => {
    if (path === undefined) return [];
    const { message: _, ...place } = sources.problem(['keys', index, 'value_file'], '');
    return [{ name, path, place }];
  });
}
