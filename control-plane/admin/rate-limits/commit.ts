// Reads the rules of the store, writes changes, and builds the answer with the resulting rules.
import { manualRules, resets } from '../../../domain/documents/kinds.ts';
import type { RulePrerequisites } from '../../../domain/rules/obstacle.ts';
import type { Rule } from '../../../domain/rules/rule.ts';
import type { Change, StoredState } from '../../../store/state/state-store.ts';
import { createCommitter, type DocumentStore, expectedOf, stateAfter } from '../../managed/commit.ts';
import { checkPrecondition, entityTag } from '../../managed/entity-tag.ts';
import type { Quotas } from '../../managed/quotas.ts';
import { readStored, unlessUnavailable } from '../../managed/read-stored.ts';
import {
  forgetEpochs,
  type KnownRules,
  knownRules,
  nextTidyMs,
  noteUnneeded,
  removeExpiredRules,
  type UnneededEpochs,
} from './changes.ts';
import type { LiveCounters } from './fleet-counters.ts';
import { type ListingParts, listing, rows } from './listing.ts';
import { mergedRules } from './merged-rules.ts';
import type { ListingQuery } from './read-listing.ts';

/** The parts of the process that the rate-limit resource uses. */
export interface RateLimitParts {
  readonly store: DocumentStore;
  /** The rules of the configuration in force, with the dates and the place of each declaration. */
  configRules(): Pick<ListingParts, 'declared' | 'places'> & { readonly rules: readonly Rule[] };
  live(): Promise<LiveCounters>;
  /** The limits on what operators may store. */
  quotas(): Quotas;
  /** Decides which rules can be enforced; called for every request. */
  prerequisites(): RulePrerequisites;
  nowMs(): number;
}

/** The body of an answer with rules. */
export interface RulesAnswer {
  readonly body: object;
  /** The revision of the manual rules. */
  readonly etag: string;
  /** The revision of the store after a write; absent for a listing. */
  readonly revision?: number;
  /** The store did not answer: the body holds the rules in force here, and no usage. */
  readonly isStale: boolean;
}

/** Decides the changes of a write. */
export type Decide = (known: KnownRules) => readonly Change[];
/** Whether the operator may see a rule of this user path, or (undefined) of a provider or model. */
type CanSee = (userPath: string | undefined) => boolean;
type RuleState = Pick<StoredState, 'documents' | 'kinds'>;

const ruleKinds = [manualRules, resets];

/** The condition of a write, and the rules that its answer shows. */
export interface WriteConditions {
  /** The If-Match header: 412 when the rules have another entity tag. */
  readonly ifMatch: string | undefined;
  readonly canSee: CanSee;
}

/**
 * The listing as of now. While the store cannot be read: the rules in force here, without their usage. Rejects with `StoreUnavailable`
 * when none are.
 */
export async function listRules(parts: RateLimitParts, canSee: CanSee, query: ListingQuery): Promise<RulesAnswer> {
  const [{ state, isStale }, live] = await Promise.all([readStored(parts.store), unlessUnavailable(parts.live())]);
  return answer(parts, state, isStale ? undefined : live, (all) => chosen(all, canSee, query));
}

/**
 * A writer that decides on the current state of the store and answers with the rules right after its change. Throws refusals and
 * `StoreUnavailable`.
 */
export function createWriter(
  parts: RateLimitParts,
): (decide: Decide, conditions: WriteConditions) => Promise<RulesAnswer> {
  const commit = createCommitter(parts.store, ruleKinds);
  return async (decide, { ifMatch, canSee }) => {
    // Counters are read before the commit, because nothing may fail after it. They may change during the write.
    const live = await parts.live();
    const { state, decision, revision } = await commit((current) => {
      checkPrecondition(ifMatch, entityTag(current, manualRules));
      return {
        changes: decide(knownRules(current, parts.configRules().rules, parts.nowMs(), parts.configRules().places)),
      };
    });
    const next = stateAfter(state, decision.changes, revision);
    return {
      ...answer(parts, next, live, ({ rules }) => ({ rules: rules.filter((rule) => canSee(userPathOf(rule))) })),
      revision,
    };
  };
}

/**
 * Removes the documents of expired rules and unneeded epochs in one commit. Gives the Unix millisecond at which to call again: now after
 * a change or a conflict. Rejects with `StoreUnavailable`.
 */
export async function tidyRules(
  store: DocumentStore,
  config: readonly Rule[],
  nowMs: number,
  unneeded: UnneededEpochs,
): Promise<number> {
  const state = await store.read();
  const known = knownRules(state, config, nowMs);
  noteUnneeded(known, unneeded);
  const changes = [...removeExpiredRules(known), ...forgetEpochs(known, unneeded)];
  if (changes.length === 0) return nextTidyMs(known, unneeded);
  await store.commit({ storeId: state.storeId ?? null, expected: expectedOf(state, ruleKinds), changes });
  return nowMs;
}

/** The rules that an answer has rows for. */
type Choose = (all: ListingParts) => Pick<ListingParts, 'rules' | 'page'>;

function chosen(all: ListingParts, canSee: CanSee, { filter, search, page }: ListingQuery) {
  const seen = all.rules.filter((rule) => canSee(userPathOf(rule)));
  const rules = seen.filter((rule) => filter(rule) && search(rule, all));
  if (page === undefined) return { rules };
  const { limit, offset } = page;
  return {
    rules: rules.slice(offset, offset + limit),
    page: { total: rules.length, limit, offset, unfiltered_total: seen.length },
  };
}

/** `live` is undefined while the store does not answer. */
function answer(parts: RateLimitParts, state: RuleState, live: LiveCounters | undefined, choose: Choose): RulesAnswer {
  const all = { ...shownRules(parts, state), live };
  const body = listing({ ...all, ...choose(all) });
  return { body, etag: entityTag(state, manualRules), isStale: live === undefined };
}

/** All rules of a state, and what their rows need besides usage. */
function shownRules(parts: RateLimitParts, { documents }: RuleState): Omit<ListingParts, 'live'> {
  const { rules: config, ...declared } = parts.configRules();
  const nowMs = Math.floor(parts.nowMs());
  const prerequisites = parts.prerequisites();
  const rules = mergedRules({ documents, config, prerequisites, nowMs });
  return { rules, prerequisites, ...declared, nowMs };
}

/** A row for each rule, without usage. */
export function rowsWithoutUsage(parts: RateLimitParts, state: RuleState): object[] {
  return rows({ ...shownRules(parts, state), live: undefined });
}

/** The user path a rule belongs to; undefined when it is about a provider or a model, which belong to the whole gateway. */
export function userPathOf({ scope, matchSubject }: Pick<Rule, 'scope' | 'matchSubject'>): string | undefined {
  return scope === 'user_path' ? matchSubject : undefined;
}
