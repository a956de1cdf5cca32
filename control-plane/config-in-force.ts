// The configuration in force, in the forms that the control plane needs; made once per configuration.
import type { AssembledConfig } from '../gitops/assembled.ts';
import type { DeclaredPlaces } from '../gitops/places.ts';
import { type KnownModels, knownModels, nothingKnown } from '../schemas/rules/known-models.ts';
import type { RulePrerequisites } from '../schemas/rules/obstacle.ts';
import { compileRules, type Rule } from '../schemas/rules/rule.ts';
import { defaultQuotas, type Quotas } from './admin/quotas.ts';

/** The environment settings that decide whether rules can be enforced. */
export type Switches = Pick<RulePrerequisites, 'hasTemplates' | 'usageEnabled'>;

/** Where the entries of the configuration are declared; see `DeclaredPlaces`. */
export type PlacesInForce = Readonly<Record<keyof DeclaredPlaces, ReadonlyMap<string, string>>>;

/** Empty until the first configuration is in force. */
export class ConfigInForce {
  isLoaded = false;
  rules: readonly Rule[] = [];
  known: KnownModels = nothingKnown;
  /** The limits on what operators may store. */
  quotas: Quotas = defaultQuotas;
  /** As declared, references to variables unexpanded. It may hold secrets. */
  providers: AssembledConfig['providers'] = {};
  aliases: AssembledConfig['aliases'] = [];
  places: PlacesInForce = { providers: new Map(), aliases: new Map(), rules: new Map() };
  #areLimitsEnabled = false;
  readonly #switches: Switches;

  constructor(switches: Switches) {
    this.#switches = switches;
  }

  put(declared: AssembledConfig): void {
    this.isLoaded = true;
    this.rules = compileRules(declared.rate_limits);
    this.known = knownModels(declared);
    this.quotas = declared.admin;
    this.providers = declared.providers;
    this.aliases = declared.aliases;
    this.places = {
      providers: new Map(declared.places?.providers),
      aliases: new Map(declared.places?.aliases),
      rules: new Map(declared.places?.rules),
    };
    this.#areLimitsEnabled = declared.rate_limits.enabled;
  }

  /** Which rules can be enforced. */
  prerequisites(): RulePrerequisites {
    return { ...this.#switches, enabled: this.#areLimitsEnabled, known: this.known };
  }
}
