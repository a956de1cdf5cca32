// Which rules concern a request: found by subject instead of by trying them all, and remembered (spec, What the service does 6; Limits 2 to 4).
import { foldCase } from '../../schemas/selector.ts';
import { directChild } from '../../schemas/user-path.ts';
import { Recent } from './recent.ts';
import type { Counter, Tally, Terms } from './tally.ts';

/** User paths, and models per provider, whose rules are remembered. A path has up to 1,024 bytes and counts once for every 64 characters. */
const rememberedPaths = 8_192;
const pathUnit = 64;
const rememberedModels = 1_024;
const rememberedProviders = 256;

/** The rules of one user path or target under one rule set, in their order, each with the counter that applies. */
export class Plan {
  readonly terms: readonly Terms[];
  /** Per rule the child of its template, else empty. */
  readonly children: readonly string[];
  /** Undefined where a child has counted nothing yet. Never changed: leases hold on to it. */
  readonly counters: readonly (Counter | undefined)[];

  constructor(terms: readonly Terms[], children: readonly string[], counters: readonly (Counter | undefined)[]) {
    this.terms = terms;
    this.children = children;
    this.counters = counters;
  }

  /** The live counter of the rule at `index`; undefined when nothing is counted there. Makes none. */
  counter(index: number): Counter | undefined {
    const counter = this.counters[index];
    if (counter !== undefined && !counter.retired) return counter;
    return this.terms[index]?.tally.find(this.children[index] ?? '');
  }

  /** The part of the plan whose rules are wanted, by their index. */
  only(isWanted: (index: number) => boolean): Plan {
    const wanted = this.terms.map((_, index) => isWanted(index));
    const isKept = (_: unknown, index: number): boolean => wanted[index] === true;
    return new Plan(this.terms.filter(isKept), this.children.filter(isKept), this.counters.filter(isKept));
  }

  /** The subject a person knows the limit by: the child's path for a template, else its own. */
  subject(index: number): string {
    return this.children[index] || (this.terms[index]?.rule.subject ?? '');
  }
}

const noPlan = new Plan([], [], []);

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
      const { scope, matchSubject, bareId } = tally.terms.rule;
      const isBare = bareId === true || !matchSubject.includes('/');
      const home = scope === 'model' ? (isBare ? this.#bare : this.#qualified) : homes[scope];
      const list = home.get(matchSubject);
      if (list === undefined) home.set(matchSubject, [tally]);
      else list.push(tally);
    }
  }

  /** Rules on the path and its ancestors. A prefix sorts before what it begins, so walking down keeps the order. */
  planUserPath(path: string): Plan {
    const found: Tally[] = [...(this.#paths.get('/') ?? [])];
    for (let end = path.indexOf('/', 1); end !== -1; end = path.indexOf('/', end + 1)) {
      found.push(...(this.#paths.get(path.slice(0, end)) ?? []));
    }
    if (path !== '/') found.push(...(this.#paths.get(path) ?? []));
    return planOf(found, path);
  }

  /** Rules on the model, bare or qualified, and on the provider; `model` is the id at the provider. */
  planTarget(provider: string, model: string): Plan {
    const name = foldCase(provider);
    const bareId = foldCase(model);
    const qualifiedId = `${name}/${bareId}`;
    const bare = this.#bare.get(bareId) ?? [];
    const qualified = this.#qualified.get(qualifiedId) ?? [];
    const models = bareId < qualifiedId ? [...bare, ...qualified] : [...qualified, ...bare];
    return planOf([...models, ...(this.#providers.get(name) ?? [])], '/');
  }
}

function planOf(tallies: readonly Tally[], path: string): Plan {
  const terms: Terms[] = [];
  const children: string[] = [];
  for (const tally of tallies) {
    const { rule } = tally.terms;
    const child = rule.perChild ? directChild(path, rule.matchSubject) : '';
    if (child === undefined) continue;
    terms.push(tally.terms);
    children.push(child);
  }
  if (terms.length === 0) return noPlan;
  return new Plan(
    terms,
    children,
    terms.map(({ tally }, index) => tally.own(children[index] ?? '')),
  );
}

/**
 * The rules that concern one user path or one target, to be kept from admission to settling. It follows the rule set: under a new
 * one it means the new rules, so late tokens are counted where they are looked for.
 */
export class Matches {
  readonly #book: Book;
  readonly #find: (index: RuleIndex) => Plan;
  #index: RuleIndex;
  #plan: Plan;

  constructor(book: Book, find: (index: RuleIndex) => Plan) {
    this.#book = book;
    this.#find = find;
    this.#index = book.index;
    this.#plan = find(book.index);
  }

  /** What is known now; counters may be missing or retired. */
  plan(): Plan {
    if (this.#index !== this.#book.index) {
      this.#index = this.#book.index;
      this.#plan = this.#find(this.#index);
    }
    return this.#plan;
  }

  /** Likewise, with a live counter for every rule. */
  opened(): Plan {
    const { terms, children } = this.plan();
    let isOwn = true;
    const counters = terms.map(({ tally }, index) => {
      const child = children[index] ?? '';
      const counter = tally.open(child);
      if (counter.child === child) return counter;
      isOwn = false;
      tally.overflowed += 1;
      return counter;
    });
    const plan = new Plan(terms, children, counters);
    // A shared counter is not remembered: the child gets one of its own when there is room.
    if (isOwn) this.#plan = plan;
    return plan;
  }
}

/** The rule set in force, and what was looked up in it lately. */
export class Book {
  index = new RuleIndex([]);
  readonly #paths = new Recent<string, Matches>(rememberedPaths);
  readonly #targets = new Recent<string, Recent<string, Matches>>(rememberedProviders);

  /** `path` normalised. */
  forUserPath(path: string): Matches {
    const size = Math.ceil(path.length / pathUnit);
    let matches = this.#paths.get(path, size);
    if (matches === undefined) {
      matches = new Matches(this, (index) => index.planUserPath(path));
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
      matches = new Matches(this, (index) => index.planTarget(provider, model));
      models.set(model, matches);
    }
    return matches;
  }
}
