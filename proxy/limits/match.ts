// Which rules concern a request: found by subject instead of by trying them all, and remembered (spec, What the service does 6; Limits 2 to 4).
import { foldCase } from '../../schemas/selector.ts';
import { directChild } from '../../schemas/user-path.ts';
import { Recent } from './recent.ts';
import type { Caps, Counter, Tally } from './tally.ts';

/** User paths, and models per provider, whose rules are remembered. A path has up to 1,024 bytes and counts once for every 64 characters. */
const rememberedPaths = 8_192;
const pathUnit = 64;
const rememberedModels = 1_024;
const rememberedProviders = 256;

/** The rules of one user path or target under one rule set, in their order, each with the counter that applies. */
export class MatchedCounters {
  readonly caps: readonly Caps[];
  /** Per rule the child of its template, else empty. */
  readonly children: readonly string[];
  /** Undefined where a child has counted nothing yet. Never changed: leases hold on to it. */
  readonly counters: readonly (Counter | undefined)[];

  constructor(caps: readonly Caps[], children: readonly string[], counters: readonly (Counter | undefined)[]) {
    this.caps = caps;
    this.children = children;
    this.counters = counters;
  }

  /** The live counter of the rule at `index`; undefined when nothing is counted there. Makes none. */
  counter(index: number): Counter | undefined {
    const counter = this.counters[index];
    if (counter !== undefined && !counter.retired) return counter;
    return this.caps[index]?.tally.find(this.children[index] ?? '');
  }

  /** Those of them whose rules are wanted, by their index. */
  only(isWanted: (index: number) => boolean): MatchedCounters {
    const wanted = this.caps.map((_, index) => isWanted(index));
    const isKept = (_: unknown, index: number): boolean => wanted[index] === true;
    return new MatchedCounters(this.caps.filter(isKept), this.children.filter(isKept), this.counters.filter(isKept));
  }

  /** The subject a person knows the limit by: the child's path for a template, else its own. */
  subject(index: number): string {
    return this.children[index] || (this.caps[index]?.rule.subject ?? '');
  }
}

const nothingMatched = new MatchedCounters([], [], []);

/** One rule set, by subject. */
export class RuleIndex {
  readonly #paths = new Map<string, Tally[]>();
  readonly #providers = new Map<string, Tally[]>();
  /** By `<provider>/<model>`, and by bare id: `a/b` may be either, at different providers. */
  readonly #qualified = new Map<string, Tally[]>();
  readonly #bare = new Map<string, Tally[]>();

  /** `tallies` in the order of `compareRules`. */
  constructor(tallies: Iterable<Tally>) {
    const homes = { user_path: this.#paths, provider: this.#providers };
    for (const tally of tallies) {
      const { scope, matchSubject, bareId } = tally.caps.rule;
      const isBare = bareId === true || !matchSubject.includes('/');
      const home = scope === 'model' ? (isBare ? this.#bare : this.#qualified) : homes[scope];
      const list = home.get(matchSubject);
      if (list === undefined) home.set(matchSubject, [tally]);
      else list.push(tally);
    }
  }

  /** Rules on the path and its ancestors. A prefix sorts before what it begins, so walking down keeps the order. */
  matchUserPath(path: string): MatchedCounters {
    const found: Tally[] = [...(this.#paths.get('/') ?? [])];
    for (let end = path.indexOf('/', 1); end !== -1; end = path.indexOf('/', end + 1)) {
      found.push(...(this.#paths.get(path.slice(0, end)) ?? []));
    }
    if (path !== '/') found.push(...(this.#paths.get(path) ?? []));
    return matchedOf(found, path);
  }

  /** Rules on the model, bare or qualified, and on the provider; `model` is the id at the provider. */
  matchTarget(provider: string, model: string): MatchedCounters {
    const name = foldCase(provider);
    const bareId = foldCase(model);
    const qualifiedId = `${name}/${bareId}`;
    const bare = this.#bare.get(bareId) ?? [];
    const qualified = this.#qualified.get(qualifiedId) ?? [];
    const models = bareId < qualifiedId ? [...bare, ...qualified] : [...qualified, ...bare];
    return matchedOf([...models, ...(this.#providers.get(name) ?? [])], '/');
  }
}

function matchedOf(tallies: readonly Tally[], path: string): MatchedCounters {
  const caps: Caps[] = [];
  const children: string[] = [];
  for (const tally of tallies) {
    const { rule } = tally.caps;
    const child = rule.perChild ? directChild(path, rule.matchSubject) : '';
    if (child === undefined) continue;
    caps.push(tally.caps);
    children.push(child);
  }
  if (caps.length === 0) return nothingMatched;
  return new MatchedCounters(
    caps,
    children,
    caps.map(({ tally }, index) => tally.own(children[index] ?? '')),
  );
}

/**
 * The rules that concern one user path or one target, to be kept from admission to settling. It follows the rule set: under a new
 * one it means the new rules, so late tokens are counted where they are looked for.
 */
export class Matches {
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

  /** What is known now; counters may be missing or retired. */
  matched(): MatchedCounters {
    if (this.#index !== this.#lookup.index) {
      this.#index = this.#lookup.index;
      this.#matched = this.#find(this.#index);
    }
    return this.#matched;
  }

  /** Likewise, with a live counter for every rule. */
  opened(): MatchedCounters {
    const { caps, children } = this.matched();
    let isOwn = true;
    const counters = caps.map(({ tally }, index) => {
      const child = children[index] ?? '';
      const counter = tally.open(child);
      if (counter.child === child) return counter;
      isOwn = false;
      tally.overflowed += 1;
      return counter;
    });
    const matched = new MatchedCounters(caps, children, counters);
    // A shared counter is not remembered: the child gets one of its own when there is room.
    if (isOwn) this.#matched = matched;
    return matched;
  }
}

/** The rule set in force, and what was looked up in it lately. */
export class RuleLookup {
  index = new RuleIndex([]);
  readonly #paths = new Recent<string, Matches>(rememberedPaths);
  readonly #targets = new Recent<string, Recent<string, Matches>>(rememberedProviders);

  /** `path` normalised. */
  forUserPath(path: string): Matches {
    const size = Math.ceil(path.length / pathUnit);
    let matches = this.#paths.get(path, size);
    if (matches === undefined) {
      matches = new Matches(this, (index) => index.matchUserPath(path));
      this.#paths.set(path, matches, size);
    }
    return matches;
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
