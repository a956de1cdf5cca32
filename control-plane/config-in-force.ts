// The configuration in force, in the forms that the control plane needs; made once per configuration.

import type { ManualAlias } from '../domain/aliases/manual-alias.ts';
import { aliasesInForce, mergeAliases } from '../domain/aliases/merge-aliases.ts';
import { type ModelNames, modelNames } from '../domain/aliases/model-names.ts';
import { type Budget, compileBudgets } from '../domain/budgets/budget.ts';
import type { BudgetPrerequisites } from '../domain/budgets/merge-budgets.ts';
import { sayUnpriced } from '../domain/budgets/unpriced.ts';
import { type Anchors, defaultAnchors } from '../domain/budgets/window.ts';
import { type KnownModels, knownModels, nothingKnown } from '../domain/rules/known-models.ts';
import type { RulePrerequisites } from '../domain/rules/obstacle.ts';
import { compileRules, type Rule } from '../domain/rules/rule.ts';
import type { AssembledConfig } from '../gitops/assemble/assembled.ts';
import type { DeclaredPlaces } from '../gitops/assemble/places.ts';
import { defaultConfig } from '../gitops/read/validate.ts';
import { type TrustedProxies, trustedProxies } from '../plane/access/client-address.ts';
import type { Commit } from '../plane/put-in-force.ts';
import { defaultQuotas, type Quotas } from './managed/quotas.ts';
import type { RecordRetention } from './records/keep-records.ts';

/** The environment settings that decide whether rules can be enforced. */
export type Switches = Pick<RulePrerequisites, 'hasTemplates' | 'usageEnabled'>;

/** Where the entries of the configuration are declared; see `DeclaredPlaces`. */
export type PlacesInForce = Readonly<Record<keyof DeclaredPlaces, ReadonlyMap<string, string>>>;

/** Empty until the first configuration is in force. */
export class ConfigInForce {
  isLoaded = false;
  rules: readonly Rule[] = [];
  budgets: readonly Budget[] = [];
  /** A sentence about models whose cost no budget counts; undefined: there are none. */
  unpriced: string | undefined;
  /** Where windows of budgets begin, as declared, without those of operators. */
  anchors: Anchors = defaultAnchors;
  /** With the aliases of operators. */
  known: KnownModels = nothingKnown;
  /** The limits on what operators may store. */
  quotas: Quotas = defaultQuotas;
  /** As declared, references to variables unexpanded. It may hold secrets. */
  providers: AssembledConfig['providers'] = {};
  /** As declared, without those of operators. */
  aliases: AssembledConfig['aliases'] = [];
  /** Of `server.trusted_proxies`; undefined: none. */
  trustedProxies: TrustedProxies | undefined;
  cache: AssembledConfig['cache'] = defaultConfig().cache;
  guardrails: AssembledConfig['guardrails'] = [];
  models: ModelNames = modelNames({ providers: {} });
  places: PlacesInForce = {
    providers: new Map(),
    aliases: new Map(),
    rules: new Map(),
    budgets: new Map(),
    guardrails: new Map(),
  };
  /** How long records are kept; before that is known, for the longest time that can be configured. */
  retention: RecordRetention = { audit: { retention: '365d' }, usage: { retention: '365d' } };
  /** Of the embedded record store; before it is known, the most that can be configured. */
  recordsMaxSize = '1048576GiB';
  /** Whether writes of operators are recorded. */
  isAudited = false;
  #declared: AssembledConfig | undefined;
  #manual: readonly ManualAlias[] = [];
  readonly #switches: Switches;

  constructor(switches: Switches) {
    this.#switches = switches;
  }

  /** Changes nothing; throws where a value cannot be used. The function that it returns puts the configuration in force and does not throw. */
  prepare(declared: AssembledConfig): Commit {
    const facts = factsOf(declared);
    const known = knownWith(declared, facts.models, this.#manual);
    return () => {
      Object.assign(this, facts, { known });
      this.#declared = declared;
    };
  }

  /** `prepare` for the aliases of operators: their names are known, too. */
  prepareAliases(manual: readonly ManualAlias[]): Commit {
    const known = this.#declared === undefined ? this.known : knownWith(this.#declared, this.models, manual);
    return () => {
      this.#manual = manual;
      this.known = known;
    };
  }

  /** Which rules can be enforced. */
  prerequisites(): RulePrerequisites {
    return { ...this.#switches, enabled: this.#declared?.rate_limits.enabled === true, known: this.known };
  }

  /** Which budgets can be enforced. */
  budgetPrerequisites(): BudgetPrerequisites {
    return { ...this.#switches, enabled: this.#declared?.budgets.enabled === true };
  }
}

/** The members that follow from the configuration alone. */
function factsOf(declared: AssembledConfig) {
  const { places } = declared;
  return {
    isLoaded: true,
    rules: compileRules(declared.rate_limits),
    budgets: compileBudgets(declared.budgets),
    unpriced: sayUnpriced(declared),
    anchors: declared.budgets.settings,
    quotas: declared.admin,
    providers: declared.providers,
    aliases: declared.aliases,
    trustedProxies: trustedProxies(declared.server.trusted_proxies),
    cache: declared.cache,
    guardrails: declared.guardrails,
    models: modelNames(declared),
    retention: { audit: declared.audit, usage: declared.usage },
    recordsMaxSize: declared.audit.max_size,
    isAudited: declared.audit.enabled,
    places: {
      providers: new Map(places?.providers),
      aliases: new Map(places?.aliases),
      rules: new Map(places?.rules),
      budgets: new Map(places?.budgets),
      guardrails: new Map(places?.guardrails),
    },
  } satisfies Partial<ConfigInForce>;
}

function knownWith(declared: AssembledConfig, models: ModelNames, manual: readonly ManualAlias[]): KnownModels {
  return knownModels({ ...declared, aliases: aliasesInForce(mergeAliases(declared.aliases, manual, models)) });
}
