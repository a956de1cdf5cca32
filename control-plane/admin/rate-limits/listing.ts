// The listing of rate-limit rules with their usage (spec, Rate limit rule (listing item)). Pure.
import type { LimitView } from '../../../domain/limits/exchange.ts';
import type { MergedRule } from '../../../domain/rules/merge.ts';
import type { RulePrerequisites } from '../../../domain/rules/obstacle.ts';
import { periodLabel } from '../../../domain/rules/period.ts';
import { explainUnenforced } from '../../../domain/rules/unenforced.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { DeclaredDates } from '../../managed/declared-dates.ts';
import { authorship, provenance } from '../../managed/listing.ts';
import { LongList } from '../../managed/long-list.ts';
import type { LiveCounters } from './fleet-counters.ts';
import { type Room, type RuleRoom, type RuleUse, roomOf, useOf } from './rule-use.ts';
import { type Counting, openOf, type SharedFigures } from './store-figures.ts';

export interface ListingParts {
  /** Sorted. */
  readonly rules: readonly MergedRule[];
  readonly prerequisites: RulePrerequisites;
  /** Undefined: the store does not answer, so the usage is not known. */
  readonly live: LiveCounters | undefined;
  /** Since when it does not answer. Unix milliseconds. */
  readonly staleSinceMs?: number | undefined;
  /** Where caps hold; undefined: it is not known. */
  readonly counting?: Counting | undefined;
  /** Of the rules that the whole fleet counts, as far as the store has said them, by rule key. */
  readonly shared?: ReadonlyMap<string, SharedFigures> | undefined;
  readonly declared: DeclaredDates;
  /** Where the configuration declares a rule, by rule key. */
  readonly places: ReadonlyMap<string, string>;
  readonly nowMs: number;
  /** The members of the answer that describe the page. Undefined: the answer has all rules. */
  readonly page?: object;
}

/** The body of `schemas/admin/rate-limits.schema.json`: times are RFC 3339 in UTC; absent members are left out. */
export function listing(parts: ListingParts): LongList {
  return LongList.in('rate_limits', texts(parts), {
    ...parts.page,
    server_time: timestamp(parts.nowMs),
    ...(parts.live === undefined ? { stale: true } : {}),
    ...(parts.staleSinceMs === undefined ? {} : { stale_since: timestamp(parts.staleSinceMs) }),
  });
}

/** One row for each rule, without usage. */
export function rowsWithoutUsage(parts: Omit<ListingParts, 'live'>): object[] {
  return parts.rules.map((rule) => ({ ...described(rule, parts), ...authored(rule, parts) }));
}

function* texts(parts: ListingParts): Generator<string, void> {
  const { live } = parts;
  const rowParts = { ...parts, stamp: createStamps() };
  for (const rule of parts.rules) {
    const { before, after } = writtenRule(rule, parts);
    const use = live === undefined ? '' : `,${JSON.stringify(liveMembers(rule, live, rowParts)).slice(1, -1)}`;
    yield before + use + after;
  }
}

/** Formats times. Windows of rules without use all begin now, and formatting was half of the time of a listing. */
function createStamps(): typeof timestamp {
  const made = new Map<number, string>();
  return (unixMs) => {
    const known = made.get(unixMs) ?? timestamp(unixMs);
    made.set(unixMs, known);
    return known;
  };
}

interface RowParts extends ListingParts {
  readonly stamp: typeof timestamp;
}

/** The text of a row before and behind the members that depend on the moment. */
interface WrittenRule {
  readonly before: string;
  readonly after: string;
  readonly declared: DeclaredDates;
  readonly places: ListingParts['places'];
}

/** By the merged rule, which is another object when the rule or what decides on it has changed. */
const writtenBefore = new WeakMap<MergedRule, WrittenRule>();

function writtenRule(rule: MergedRule, parts: ListingParts): WrittenRule {
  const { declared, places } = parts;
  const known = writtenBefore.get(rule);
  if (known?.declared === declared && known.places === places) return known;
  const before = JSON.stringify(described(rule, parts)).slice(0, -1);
  const written = { before, after: `,${JSON.stringify(authored(rule, parts)).slice(1)}`, declared, places };
  writtenBefore.set(rule, written);
  return written;
}

function described(rule: MergedRule, { prerequisites, places }: Omit<ListingParts, 'live'>): object {
  const unenforced = explainUnenforced(rule, prerequisites);
  return {
    id: rule.id,
    ...(rule.name === undefined ? {} : { name: rule.name }),
    scope: rule.scope,
    subject: rule.subject,
    ...(rule.perChild ? {} : { effective_subject: rule.matchSubject }),
    ...(rule.scope === 'user_path' ? { user_path: rule.subject } : {}),
    per_child: rule.perChild,
    ...provenance(rule.key, rule, places),
    enforced: rule.enforced,
    ...(unenforced === undefined ? {} : { unenforced_reason: unenforced }),
    mode: rule.mode,
    ...(rule.onStoreLoss === undefined ? {} : { on_store_loss: rule.onStoreLoss }),
    period_label: periodLabel(rule.periodSeconds),
    period_seconds: rule.periodSeconds,
    ...(rule.maxRequests === undefined ? {} : { max_requests: rule.maxRequests }),
    ...(rule.maxTokens === undefined ? {} : { max_tokens: rule.maxTokens }),
  };
}

function liveMembers(rule: MergedRule, live: LiveCounters, parts: RowParts): object {
  const refused = live.refused(rule.key);
  // A template has no usage, because each child has its own counters.
  if (rule.perChild)
    return { requests_used: 0, tokens_used: 0, in_flight: 0, refused, ...counted(rule, parts.counting) };
  const sources = { ...parts, live };
  const use = useOf(rule, sources);
  const room = roomOf(rule, use, sources);
  return { ...usage(rule, use, room, parts), refused, ...sharing(rule, live, room, parts) };
}

function authored({ key, manual }: MergedRule, { declared, nowMs }: Omit<ListingParts, 'live'>): object {
  return authorship(manual, declared.get(key), nowMs);
}

/** An absent cap has no usage. */
function usage(
  { maxRequests, maxTokens, periodSeconds }: MergedRule,
  used: RuleUse,
  { requests, tokens }: RuleRoom,
  { nowMs, stamp }: RowParts,
): object {
  const left = (dimension: 'requests' | 'tokens', room: Room | undefined): object =>
    room === undefined ? {} : { [`${dimension}_remaining`]: room.left };
  if (periodSeconds === 0)
    return { requests_used: 0, ...left('requests', requests), tokens_used: 0, in_flight: used.inFlight };
  const requestsUsed = maxRequests === undefined ? 0 : used.requestsUsed;
  const tokensUsed = maxTokens === undefined ? 0 : used.tokensUsed;
  return {
    requests_used: requestsUsed,
    ...left('requests', requests),
    tokens_used: tokensUsed,
    ...(maxTokens === undefined ? {} : { tokens_reserved: used.tokensReserved }),
    ...left('tokens', tokens),
    in_flight: 0,
    window_start: stamp(Math.min(used.startMs, nowMs)),
    window_end: stamp(Number.isFinite(used.endMs) ? used.endMs : nowMs + 1000 * periodSeconds),
  };
}

/** Where a rule is counted, how exactly, what is handed out and not used, and the part of each proxy. */
function sharing(rule: MergedRule, live: LiveCounters, room: RuleRoom, { counting, shared }: ListingParts): object {
  if (counting === undefined) return {};
  const whole = counted(rule, counting);
  if (counting.counted === 'replica') return { ...whole, ...(counting.replicas > 1 ? alone(rule, live, room) : {}) };
  const figures = shared?.get(rule.key);
  if (figures === undefined) return whole;
  return {
    ...whole,
    held: spareOf(figures.slots ?? figures.requests),
    ...(rule.maxTokens === undefined ? {} : { tokens_held: spareOf(figures.tokens) }),
    proxies: partsOf(rule, live, figures),
  };
}

function counted(rule: MergedRule, counting: Counting | undefined): object {
  if (counting === undefined) return {};
  const { counted: where, replicas } = counting;
  return { counted: where, replicas, ...(where === 'fleet' ? { exactness: exactnessOf(rule, counting) } : {}) };
}

/** Each proxy has the caps for itself: what they come to on all of them, and what each has counted. */
function alone(rule: MergedRule, live: LiveCounters, { requests, tokens }: RuleRoom): object {
  return {
    ...(requests === undefined ? {} : { effective_max_requests: requests.cap }),
    ...(tokens === undefined ? {} : { effective_max_tokens: tokens.cap }),
    proxies: live
      .parts(rule.key, rule.epoch)
      .slice(0, mostParts)
      .map(({ instance, requestsUsed, tokensUsed, tokensReserved, inFlight }) => ({
        instance,
        requests_used: rule.maxRequests === undefined ? 0 : requestsUsed,
        tokens_used: rule.maxTokens === undefined ? 0 : tokensUsed,
        in_flight: inFlight,
        ...(rule.maxTokens === undefined ? {} : { tokens_reserved: tokensReserved }),
      })),
  };
}

/** Units that are held in advance: those of open requests are not. */
function spareOf(view: LimitView | undefined): number {
  return (view?.held ?? 0) - openOf(view);
}

function exactnessOf({ onStoreLoss }: MergedRule, counting: Counting): string {
  if (counting.isLost) return onStoreLoss ?? counting.onStoreLoss;
  return counting.isRecovering ? 'recovering' : 'exact';
}

/** So many proxies are listed for one rule. */
const mostParts = 100;

/** Sorted by instance. A proxy that is gone is listed while the store keeps what it held. */
function partsOf({ key, epoch, maxTokens }: MergedRule, live: LiveCounters, figures: SharedFigures): object[] {
  const own = new Map(live.parts(key, epoch).map((part) => [part.instance, part]));
  const held = heldBy(figures.slots ?? figures.requests);
  const tokens = heldBy(figures.tokens);
  const unitsOf = (of: ReadonlyMap<string, Held>, instance: string): Held => of.get(instance) ?? nothingHeld;
  return [...new Set([...own.keys(), ...held.keys(), ...tokens.keys()])]
    .sort()
    .slice(0, mostParts)
    .map((instance) => ({
      instance,
      requests_used: figures.slots === undefined ? (own.get(instance)?.requestsUsed ?? 0) : 0,
      tokens_used: own.get(instance)?.tokensUsed ?? 0,
      in_flight: unitsOf(held, instance).open,
      held: unitsOf(held, instance).spare,
      ...(maxTokens === undefined
        ? {}
        : { tokens_reserved: unitsOf(tokens, instance).open, tokens_held: unitsOf(tokens, instance).spare }),
    }));
}

/** Units of open requests, and those that are held in advance. */
interface Held {
  readonly open: number;
  readonly spare: number;
}

const nothingHeld: Held = { open: 0, spare: 0 };

/** By instance. */
function heldBy(view: LimitView | undefined): Map<string, Held> {
  const found = new Map<string, Held>();
  for (const [instance, units, open] of view?.sessions ?? []) {
    const before = found.get(instance) ?? nothingHeld;
    if (instance !== '' && units > 0)
      found.set(instance, { open: before.open + open, spare: before.spare + units - open });
  }
  return found;
}
