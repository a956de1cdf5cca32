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
  #areLimitsEnabled = false;
  #areBudgetsEnabled = false;
  #declared: AssembledConfig | undefined;
  #manual: readonly ManualAlias[] = [];
  readonly #switches: Switches;

  constructor(switches: Switches) {
    this.#switches = switches;
  }

  put(declared: AssembledConfig): void {
    this.isLoaded = true;
    this.rules = compileRules(declared.rate_limits);
    this.budgets = compileBudgets(declared.budgets);
    this.unpriced = sayUnpriced(declared);
    this.anchors = declared.budgets.settings;
    this.quotas = declared.admin;
    this.providers = declared.providers;
    this.aliases = declared.aliases;
    this.trustedProxies = trustedProxies(declared.server.trusted_proxies);
    this.cache = declared.cache;
    this.guardrails = declared.guardrails;
    this.models = modelNames(declared);
    this.retention = { audit: declared.audit, usage: declared.usage };
    this.recordsMaxSize = declared.audit.max_size;
    this.isAudited = declared.audit.enabled;
    this.#declared = declared;
    this.places = {
      providers: new Map(declared.places?.providers),
      aliases: new Map(declared.places?.aliases),
      rules: new Map(declared.places?.rules),
      budgets: new Map(declared.places?.budgets),
      guardrails: new Map(declared.places?.guardrails),
    };
    this.#areLimitsEnabled = declared.rate_limits.enabled;
    this.#areBudgetsEnabled = declared.budgets.enabled;
    this.#learn();
  }

  /** Takes the aliases of operators: their names are known, too. */
  putAliases(manual: readonly ManualAlias[]): void {
    this.#manual = manual;
    this.#learn();
  }

  #learn(): void {
    if (this.#declared === undefined) return;
    const aliases = aliasesInForce(mergeAliases(this.aliases, this.#manual, this.models));
    this.known = knownModels({ ...this.#declared, aliases });
  }

  /** Which rules can be enforced. */
  prerequisites(): RulePrerequisites {
    return { ...this.#switches, enabled: this.#areLimitsEnabled, known: this.known };
  }

  /** Which budgets can be enforced. */
  budgetPrerequisites(): BudgetPrerequisites {
    return { ...this.#switches, enabled: this.#areBudgetsEnabled };
  }
}
