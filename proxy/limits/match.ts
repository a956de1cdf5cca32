// Finds the rules that match a request: by subject instead of trying all of them, and cached (spec, What the service does 6; Limits 2 to 4).
import { compareRules, type Rule } from '../../domain/rules/rule.ts';
import { foldCase } from '../../domain/selector.ts';
import { directChild, foldUserPath, spelledAs } from '../../domain/user-path.ts';
import { Recent } from './recent.ts';
import type { Caps, Counter, Tally } from './tally.ts';

/** The sizes of the caches, in entries. A path has up to 1,024 bytes and takes one entry per 64 characters. */
const rememberedPaths = 8_192;
const pathUnit = 64;
const rememberedModels = 1_024;
const rememberedProviders = 256;

/** One rule that matches a request, and the counter that applies. Never changed: leases refer to it. */
export interface MatchedCounter {
  readonly caps: Caps;
  /** The child of a template, in lower case; empty for a rule that is no template. */
  readonly child: string;
  /** The child in the letter case in which it was first sent. */
  readonly shownChild: string;
  /** The counter at the time of the match: undefined where the child had counted nothing; perhaps retired since. */
  readonly counter: Counter | undefined;
}

/** The rules of one user path or target under one rule set, in their order. */
export type MatchedCounters = readonly MatchedCounter[];

/** The live counter of a matched rule; undefined when nothing is counted there. Does not create one. */
export function liveCounter({ caps, child, counter }: MatchedCounter): Counter | undefined {
  return counter !== undefined && !counter.retired ? counter : caps.tally.find(child);
}

/** The subject for messages and headers: the child's path for a template, else the subject of the rule. */
export function subjectOf({ caps, shownChild }: MatchedCounter): string {
  return shownChild || caps.rule.subject;
}

const nothingMatched: MatchedCounters = [];

type Home = Map<string, Tally[]>;

interface Homes {
  readonly paths: Home;
  readonly providers: Home;
  /** By `<provider>/<model>`, and by bare id: `a/b` may be either, at different providers. */
  readonly qualified: Home;
  readonly bare: Home;
}

function limitedModelsIn({ qualified, bare }: Homes): ReadonlySet<string> {
  const found = new Set<string>();
  const limits = (tallies: readonly Tally[]): boolean => tallies.some(({ caps }) => !caps.shadow);
  for (const [subject, tallies] of qualified) if (limits(tallies)) found.add(subject.split('/', 1)[0] ?? '');
  if ([...bare.values()].some(limits)) found.add('*');
  return found;
}

/** One rule set, indexed by subject. */
export class RuleIndex {
  #homes: Homes = { paths: new Map(), providers: new Map(), qualified: new Map(), bare: new Map() };
  /**
   * Providers with an enforcing rule on one of their models, in lower case; `*` when a rule names a model without its
   * provider.
   */
  #limitedModels: ReadonlySet<string> = new Set();

  /** `tallies` in the order of `compareRules`. */
  constructor(tallies: Iterable<Tally>) {
    for (const tally of tallies) {
      const { home, subject } = this.#placeOf(tally.caps.rule);
      const list = home.get(subject);
      if (list === undefined) home.set(subject, [tally]);
      else list.push(tally);
    }
    this.#limitedModels = limitedModelsIn(this.#homes);
  }

  /** Without the rules that are gone, and with the tallies of others; the index before is of no more use. */
  changed(gone: readonly Rule[], come: readonly Tally[]): RuleIndex {
    const next = new RuleIndex([]);
    next.#homes = this.#homes;
    for (const rule of gone) {
      const { home, subject } = this.#placeOf(rule);
      const left = (home.get(subject) ?? []).filter(({ caps }) => caps.rule.key !== rule.key);
      if (left.length > 0) home.set(subject, left);
      else home.delete(subject);
    }
    for (const tally of come) {
      const { home, subject } = this.#placeOf(tally.caps.rule);
      const all = [...(home.get(subject) ?? []), tally];
      home.set(
        subject,
        all.sort((one, other) => compareRules(one.caps.rule, other.caps.rule)),
      );
    }
    const isOfModel = [...gone, ...come.map(({ caps }) => caps.rule)].some(({ scope }) => scope === 'model');
    next.#limitedModels = isOfModel ? limitedModelsIn(this.#homes) : this.#limitedModels;
    return next;
  }

  #placeOf({ scope, matchSubject, bareId }: Rule): { readonly home: Home; readonly subject: string } {
    const { paths, providers, qualified, bare } = this.#homes;
    const isBare = bareId === true || !matchSubject.includes('/');
    const home = { user_path: paths, provider: providers, model: isBare ? bare : qualified }[scope];
    return { home, subject: matchSubject };
  }

  /** Whether some rule has the scope provider or model. */
  get limitsTargets(): boolean {
    const { providers, qualified, bare } = this.#homes;
    return providers.size + qualified.size + bare.size > 0;
  }

  /** Whether a model of the provider may be refused by a rule on models. */
  limitsModelsOf(provider: string): boolean {
    return this.#limitedModels.has('*') || this.#limitedModels.has(foldCase(provider));
  }

  /** The rules on the path and its ancestors, in the order of rules: an ancestor sorts before its descendants. */
  matchUserPath(sent: string): MatchedCounters {
    const path = foldUserPath(sent);
    const found: Tally[] = [...(this.#homes.paths.get('/') ?? [])];
    for (let end = path.indexOf('/', 1); end !== -1; end = path.indexOf('/', end + 1)) {
      found.push(...(this.#homes.paths.get(path.slice(0, end)) ?? []));
    }
    if (path !== '/') found.push(...(this.#homes.paths.get(path) ?? []));
    return matchedOf(found, sent);
  }

  /** The rules on the model, bare or qualified, and on the provider. `model` is the id that the provider uses. */
  matchTarget(provider: string, model: string): MatchedCounters {
    const name = foldCase(provider);
    const bareId = foldCase(model);
    const qualifiedId = `${name}/${bareId}`;
    const bare = this.#homes.bare.get(bareId) ?? [];
    const qualified = this.#homes.qualified.get(qualifiedId) ?? [];
    const models = bareId < qualifiedId ? [...bare, ...qualified] : [...qualified, ...bare];
    return matchedOf([...models, ...(this.#homes.providers.get(name) ?? [])], '/');
  }
}

function matchedOf(tallies: readonly Tally[], path: string): MatchedCounters {
  const matched: MatchedCounter[] = [];
  for (const tally of tallies) {
    const { caps } = tally;
    const child = caps.rule.perChild ? directChild(path, caps.rule.matchSubject) : '';
    if (child === undefined) continue;
    const shownChild = child === '' ? '' : spelledAs(path, child);
    matched.push({ caps, child, shownChild, counter: tally.own(child) });
  }
  return matched.length === 0 ? nothingMatched : matched;
}

/** The rules that count a request. */
export interface MatchedRules {
  /** The matching rules now. Counters may be missing or retired. */
  matched(): MatchedCounters;
  /** The matching rules, each with a live counter, which is created where it is missing. */
  opened(): MatchedCounters;
}

/**
 * The rules that match one user path or one target, kept from admission to settle. When the rule set is replaced, it
 * returns the rules of the new one, so that late tokens are counted under the rules in force.
 */
export class Matches implements MatchedRules {
  readonly #lookup: RuleLookup;
  readonly #find: (index: RuleIndex) => MatchedCounters;
  #index: RuleIndex;
  #matched: MatchedCounters;

  constructor(lookup: RuleLookup, find: (index: RuleIndex) => MatchedCounters) {
    this.#lookup = lookup;
    this.#find = find;
    this.#index = lookup.index;
    this.#matched = find(lookup.index);
  }

  matched(): MatchedCounters {
    if (this.#index !== this.#lookup.index) {
      this.#index = this.#lookup.index;
      this.#matched = this.#find(this.#index);
    }
    return this.#matched;
  }

  opened(): MatchedCounters {
    let isOwn = true;
    const matched = this.matched().map(({ caps, child, shownChild }) => {
      const counter = caps.tally.open(child);
      if (counter.child !== child) {
        isOwn = false;
        caps.tally.overflowed += 1;
      }
      return { caps, child, shownChild, counter };
    });
    // A shared counter is not remembered: the child gets one of its own when there is room.
    if (isOwn) this.#matched = matched;
    return matched;
  }
}

/** The rule set in force, and a cache of recent look-ups in it. */
export class RuleLookup {
  index = new RuleIndex([]);
  readonly #paths = new Recent<string, Matches>(rememberedPaths);
  readonly #targets = new Recent<string, Recent<string, Matches>>(rememberedProviders);

  /** Matches without any rule. */
  readonly none = new Matches(this, () => nothingMatched);

  /** `sent` is a path as `normaliseUserPath` returns it, in the letter case of the request. */
  forUserPath(sent: string): Matches {
    const path = foldUserPath(sent);
    const size = Math.ceil(path.length / pathUnit);
    let matches = this.#paths.get(path, size);
    if (matches === undefined) {
      matches = new Matches(this, (index) => index.matchUserPath(sent));
      this.#paths.set(path, matches, size);
    }
    return matches;
  }

  /** `forUserPath` without concurrency rules. Not cached. */
  windowsForUserPath(path: string): Matches {
    return new Matches(this, (index) => {
      return index.matchUserPath(path).filter(({ caps }) => caps.slotsCap === Number.POSITIVE_INFINITY);
    });
  }

  forTarget(provider: string, model: string): Matches {
    let models = this.#targets.get(provider);
    if (models === undefined) {
      models = new Recent(rememberedModels);
      this.#targets.set(provider, models);
    }
    let matches = models.get(model);
    if (matches === undefined) {
      matches = new Matches(this, (index) => index.matchTarget(provider, model));
      models.set(model, matches);
    }
    return matches;
  }
}
