// The configuration in force, in the forms that the control plane needs; made once per configuration.

import type { ManualAlias } from '../domain/aliases/manual-alias.ts';
import { aliasesInForce, mergeAliases } from '../domain/aliases/merge-aliases.ts';
import { type ModelNames, modelNames } from '../domain/aliases/model-names.ts';
import { type Budget, compileBudgets } from '../domain/budgets/budget.ts';
import type { BudgetPrerequisites } from '../domain/budgets/merge-budgets.ts';
import { sayUnpriced } from '../domain/budgets/unpriced.ts';
import { type Anchors, defaultAnchors } from '../domain/budgets/window.ts';
import { peopleInForce } from '../domain/identities/people.ts';
import { noPeople, type PeopleInForce } from '../domain/keys/identify-session.ts';
import { type KnownModels, knownModels, nothingKnown } from '../domain/rules/known-models.ts';
import type { RulePrerequisites } from '../domain/rules/obstacle.ts';
import { compileRules, type Rule } from '../domain/rules/rule.ts';
import type { AssembledConfig } from '../gitops/assemble/assembled.ts';
import type { DeclaredPlaces } from '../gitops/assemble/places.ts';
import { defaultConfig } from '../gitops/read/validate.ts';
import { type TrustedProxies, trustedProxies } from '../plane/access/client-address.ts';
import type { Commit } from '../plane/put-in-force.ts';
import type { RecordRetention } from './records/keep-records.ts';

/** The environment settings that decide whether rules can be enforced. */
export type Switches = Pick<RulePrerequisites, 'hasTemplates' | 'usageEnabled'>;

/** Where the entries of the configuration are declared; see `DeclaredPlaces`. */
export type PlacesInForce = Readonly<Record<keyof DeclaredPlaces, ReadonlyMap<string, string>>>;

/** Of each section of a configuration, and of its rules: none is declared. */
const nowhere = { rules: [], ...Object.fromEntries(Object.keys(defaultConfig()).map((section) => [section, []])) };

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
  /** The defaults at first. References to variables are unexpanded; it may hold secrets. Without what operators have set. */
  declared: AssembledConfig = defaultConfig();
  /** Who may be signed in to the dashboard. */
  people: PeopleInForce = noPeople;
  /** Of `server.trusted_proxies`; undefined: none. */
  trustedProxies: TrustedProxies | undefined;
  models: ModelNames = modelNames({ providers: {} });
  places: PlacesInForce = placesInForce(undefined);
  /** How long records are kept; before that is known, for the longest time that can be configured. */
  retention: RecordRetention = { audit: { retention: '365d' }, usage: { retention: '365d' } };
  /** Of the embedded record store; before it is known, the most that can be configured. */
  recordsMaxSize = '1048576GiB';
  /** Whether writes of operators are recorded. */
  isAudited = false;
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
    };
  }

  /** `prepare` for the aliases of operators: their names are known, too. */
  prepareAliases(manual: readonly ManualAlias[]): Commit {
    const known = this.isLoaded ? knownWith(this.declared, this.models, manual) : this.known;
    return () => {
      this.#manual = manual;
      this.known = known;
    };
  }

  /** Which rules can be enforced. */
  prerequisites(): RulePrerequisites {
    return { ...this.#switches, enabled: this.isLoaded && this.declared.rate_limits.enabled, known: this.known };
  }

  /** Which budgets can be enforced. */
  budgetPrerequisites(): BudgetPrerequisites {
    return { ...this.#switches, enabled: this.isLoaded && this.declared.budgets.enabled };
  }
}

/** The members that follow from the configuration alone. */
function factsOf(declared: AssembledConfig) {
  return {
    isLoaded: true,
    declared,
    rules: compileRules(declared.rate_limits),
    budgets: compileBudgets(declared.budgets),
    unpriced: sayUnpriced(declared),
    anchors: declared.budgets.settings,
    people: peopleInForce(declared.identities),
    trustedProxies: trustedProxies(declared.server.trusted_proxies),
    models: modelNames(declared),
    retention: { audit: declared.audit, usage: declared.usage },
    recordsMaxSize: declared.audit.max_size,
    isAudited: declared.audit.enabled,
    places: placesInForce(declared.places),
  } satisfies Partial<ConfigInForce>;
}

function placesInForce(places: DeclaredPlaces | undefined): PlacesInForce {
  const lists = Object.entries(places ?? nowhere);
  return Object.fromEntries(lists.map(([section, entries]) => [section, new Map(entries)])) as unknown as PlacesInForce;
}

function knownWith(declared: AssembledConfig, models: ModelNames, manual: readonly ManualAlias[]): KnownModels {
  return knownModels({ ...declared, aliases: aliasesInForce(mergeAliases(declared.aliases, manual, models)) });
}
