// Rate limits as operators list and write them (spec, Endpoints).
import { manualRules, resets } from '../../../domain/documents/kinds.ts';
import { authorFacts } from '../../../domain/rules/authorship.ts';
import type { MergedRule } from '../../../domain/rules/merge.ts';
import type { RulePrerequisites } from '../../../domain/rules/obstacle.ts';
import { everyRule } from '../../../domain/rules/reset-epochs.ts';
import { type Rule, ruleTitle } from '../../../domain/rules/rule.ts';
import { ruleFacts } from '../../../domain/rules/rule-facts.ts';
import type { StoredState } from '../../../store/state/state-store.ts';
import type { Operator } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import { denied, isVisible } from '../../managed/own-path.ts';
import type { Quotas } from '../../managed/quotas.ts';
import type { ManagedParts, ManagedResource, ManagedWrite } from '../../managed/resource.ts';
import { deleteRule, type KnownRules, knownRules, putRule, resetEveryRule, resetRule } from './changes.ts';
import { delegatedRemoval, delegatedReset, delegatedWrite, refuseForeignModel } from './delegation.ts';
import type { LiveCounters } from './fleet-counters.ts';
import { type ListingParts, listing, rowsWithoutUsage } from './listing.ts';
import { mergedRules } from './merged-rules.ts';
import { type ListingQuery, readListing } from './read-listing.ts';
import { checkConfirmation, type RuleName, type RuleWrite, readDelete, readResetOne, readWrite } from './read-write.ts';
import { countingOf, mostRead, mostSearched, readShared, type SharedLimits } from './store-figures.ts';

/** The parts of the process that the rate-limit resource uses. */
export interface RateLimitParts extends ManagedParts {
  /** The rules of the configuration in force, with the dates and the place of each declaration. */
  configRules(): Pick<ListingParts, 'declared' | 'places'> & { readonly rules: readonly Rule[] };
  live(): Promise<LiveCounters>;
  /** Of caps that hold for the whole fleet. */
  readonly limits: SharedLimits;
  /** When the store was found not to answer, in Unix milliseconds; absent or undefined: that is not known. */
  staleSinceMs?(): number | undefined;
  /** The limits on what operators may store. */
  quotas(): Quotas;
  /** Decides which rules can be enforced; called for every request. */
  prerequisites(): RulePrerequisites;
}

/** All rules at one moment, and what limits the writes. */
interface RulesNow extends KnownRules {
  readonly prerequisites: RulePrerequisites;
  readonly quotas: Quotas;
}

type RuleWriting<Wanted extends RuleName = RuleName> = ManagedWrite<RateLimitParts, RulesNow, Wanted>;

const put: RuleWriting<RuleWrite> = {
  method: 'PUT',
  read: readWrite,
  admit(wanted, operator, parts) {
    if (!isVisible(operator, wanted)) throw denied('change a rule outside of its user path');
    refuseForeignModel(wanted, operator, parts.prerequisites().known);
  },
  decide(known, wanted, { operator, name }) {
    const { quotas, prerequisites } = known;
    const write = delegatedWrite(known, wanted, operator, quotas.max_rules_per_scope);
    return putRule(known, write, name, prerequisites.hasTemplates);
  },
};

const remove: RuleWriting = {
  method: 'DELETE',
  read: readDelete,
  admit: admitSeen,
  decide: (known, wanted, { operator }) => deleteRule(known, delegatedRemoval(known, wanted, operator)),
};

const resetOne: RuleWriting = {
  method: 'POST',
  suffix: '/reset-one',
  read: readResetOne,
  admit: admitSeen,
  decide: (known, wanted, { operator }) => resetRule(known, delegatedReset(wanted, operator)),
};

const reset: ManagedWrite<RateLimitParts, RulesNow> = {
  method: 'POST',
  suffix: '/reset',
  read(body) {
    checkConfirmation(body);
    return { key: everyRule };
  },
  admit: (_, operator, parts) => refuseForeignModel(undefined, operator, parts.prerequisites().known),
  decide: resetEveryRule,
  answer: { status: 'ok' },
};

function admitSeen(wanted: RuleName, operator: Operator, parts: RateLimitParts): void {
  if (!isVisible(operator, wanted)) throw refusal('rate_limit_not_found');
  refuseForeignModel(wanted, operator, parts.prerequisites().known);
}

/** A scoped operator sees and changes rules within its user path only; the listing leaves out other rules. */
export const rateLimitResource: ManagedResource<RateLimitParts, RulesNow, ListingQuery, LiveCounters> = {
  path: '/admin/rate-limits',
  kind: manualRules,
  others: [resets],
  figures: { read: (parts) => parts.live(), isNeeded: true },
  readQuery: readListing,
  known(parts, state, nowMs) {
    const { rules, places } = parts.configRules();
    return {
      ...knownRules(state, rules, nowMs, places),
      prerequisites: parts.prerequisites(),
      quotas: parts.quotas(),
    };
  },
  async list(parts, state, { operator, query = everyRuleShown, figures, isStale }) {
    const live = isStale ? undefined : figures;
    const counting = live && countingOf(live, parts.limits);
    const staleSinceMs = live === undefined ? parts.staleSinceMs?.() : undefined;
    const all: ListingParts = { ...shownRules(parts, state), live, counting, staleSinceMs };
    const read = async (rules: ListingParts['rules'], most: number): Promise<ListingParts['shared']> =>
      counting?.counted === 'fleet' ? readShared(rules, parts.limits.look, most) : undefined;
    const seen = all.rules.filter((rule) => isVisible(operator, rule));
    const { finds, stands } = query.search;
    const isByUse = query.search.isByUse || query.order?.isByUse === true;
    const found = seen.filter((rule) => query.filter(rule) && finds(rule, all));
    const searched = isByUse ? await read(likelyFirst(found, all), mostSearched) : undefined;
    const around = { ...all, shared: searched };
    const standing = found.filter((rule) => stands(rule, around));
    const page = pageOf(query.order?.sorted(standing, around) ?? standing, seen.length, query);
    return listing({ ...all, ...page, shared: searched ?? (await read(page.rules, mostRead)) });
  },
  title: (wanted: RuleName) => (wanted.key === everyRule ? 'every rule' : `rule ${ruleTitle(wanted)}`),
  facts(before, after, { key }) {
    const next = after.manual.get(key);
    return {
      before: factsOf(before, key),
      after: factsOf(after, key),
      ...(next === undefined ? {} : authorFacts(next)),
    };
  },
  writes: [put, remove, resetOne, reset],
};

/** What is asked where nobody asks for less. */
const everyRuleShown: ListingQuery = {
  filter: () => true,
  search: { finds: () => true, stands: () => true, isByUse: false },
  order: undefined,
  page: undefined,
};

/** The rules that a listing has rows for; `seen`: how many there are without filters. */
function pageOf(
  rules: ListingParts['rules'],
  seen: number,
  { page }: ListingQuery,
): Pick<ListingParts, 'rules' | 'page'> {
  if (page === undefined) return { rules };
  const { limit, offset } = page;
  return {
    rules: rules.slice(offset, offset + limit),
    page: { total: rules.length, limit, offset, unfiltered_total: seen },
  };
}

/** Those first that a live proxy has counted something of, or refused by: of many rules, few others are used up. */
function likelyFirst(rules: ListingParts['rules'], { live }: ListingParts): ListingParts['rules'] {
  if (live === undefined || rules.length <= mostSearched) return rules;
  const isLikely = ({ key, epoch }: MergedRule): boolean => live.parts(key, epoch).length > 0 || live.refused(key) > 0;
  return [...rules.filter(isLikely), ...rules.filter((rule) => !isLikely(rule))];
}

function factsOf({ config, manual, prerequisites }: RulesNow, key: string): object | null {
  return ruleFacts({ declared: config.get(key), manual: manual.get(key) }, prerequisites);
}

/** All rules of a state, and what their rows need besides usage. */
export function shownRules(
  parts: RateLimitParts,
  { documents }: Pick<StoredState, 'documents'>,
): Omit<ListingParts, 'live'> {
  const { rules: config, ...declared } = parts.configRules();
  const nowMs = Math.floor(parts.nowMs());
  const prerequisites = parts.prerequisites();
  const rules = mergedRules({ documents, config, prerequisites, nowMs });
  return { rules, prerequisites, ...declared, nowMs };
}

/** A row for each rule of a state, without usage. */
export function describedRules(parts: RateLimitParts, state: Pick<StoredState, 'documents'>): object[] {
  return rowsWithoutUsage(shownRules(parts, state));
}
