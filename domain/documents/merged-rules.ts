// The rules of documents merged with those of the configuration; both planes use it. Of other documents, only the rules that differ are merged again.

import { expiryMs } from '../rules/authorship.ts';
import type { ManualRule } from '../rules/manual-rule.ts';
import { type MergedRule, mergeRules } from '../rules/merge.ts';
import type { RulePrerequisites } from '../rules/obstacle.ts';
import { everyRule, resetEpochs } from '../rules/reset-epochs.ts';
import { compareRules, type Rule } from '../rules/rule.ts';
import { ruleId } from '../rules/rule-id.ts';
import { changedOrder, differences } from '../sorted-list.ts';
import { manualRules, resets } from './kinds.ts';
import type { ManagedKind, StoredDocument } from './managed-kind.ts';
import { byId, entryIn, placesOf } from './order.ts';

export interface MergedSources {
  /** Sorted by kind, then id. */
  readonly documents: readonly StoredDocument[];
  /** The result of `compileRules`. */
  readonly config: readonly Rule[];
  readonly prerequisites: RulePrerequisites;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

export class MergedRules {
  #sources: MergedSources | undefined;
  #rules: readonly MergedRule[] = [];
  /** By key: two where one of the configuration counts beside one of an operator. */
  readonly #byKey = new Map<string, readonly MergedRule[]>();
  /** Of the configuration, by key. */
  #declared: ReadonlyMap<string, readonly Rule[]> = new Map();
  /** How many keys have this short id. */
  readonly #ids = new Map<string, number>();
  /** The rules of operators that end, by key, and when they do, in Unix milliseconds. */
  readonly #ends = new Map<string, { readonly rule: ManualRule; readonly endMs: number }>();

  at(sources: MergedSources): readonly MergedRule[] {
    const before = this.#sources;
    // Until this is through: what breaks off in the middle is merged anew.
    this.#sources = undefined;
    const keys = before === undefined ? undefined : this.#changedKeys(before, sources);
    if (keys === undefined) this.#mergeAll(sources);
    else if (keys.size > 0) this.#merge(keys, sources);
    this.#sources = sources;
    return this.#rules;
  }

  /** The rules of operators that have ended at this time, in Unix milliseconds, and are still stored. */
  endedAt(nowMs: number): ManualRule[] {
    return [...this.#ends.values()].filter(({ endMs }) => endMs <= nowMs).map(({ rule }) => rule);
  }

  /** When the next rule of an operator ends, in Unix milliseconds; undefined: none does. */
  nextEndMs(nowMs: number): number | undefined {
    let next = Number.POSITIVE_INFINITY;
    for (const { endMs } of this.#ends.values()) if (endMs > nowMs && endMs < next) next = endMs;
    return next === Number.POSITIVE_INFINITY ? undefined : next;
  }

  /** Undefined: all rules are others. */
  #changedKeys(before: MergedSources, now: MergedSources): Set<string> | undefined {
    const [{ prerequisites: then }, { prerequisites }] = [before, now];
    const isSame =
      before.config === now.config &&
      then.known === prerequisites.known &&
      then.enabled === prerequisites.enabled &&
      then.usageEnabled === prerequisites.usageEnabled &&
      then.hasTemplates === prerequisites.hasTemplates;
    if (!isSame) return undefined;
    const keys = new Set([manualRules, resets].flatMap((kind) => changedIds(kind, before.documents, now.documents)));
    if (keys.has(everyRule)) return undefined;
    // A clock that was set back brings rules back that had expired.
    for (const [key, { endMs }] of this.#ends) if (endMs <= before.nowMs !== endMs <= now.nowMs) keys.add(key);
    return keys;
  }

  #mergeAll({ documents, ...sources }: MergedSources): void {
    const manual = valuesIn(documents, manualRules);
    const epochs = resetEpochs(valuesIn(documents, resets));
    this.#rules = mergeRules({ ...sources, manual, epochs });
    this.#declared = Map.groupBy(sources.config, ({ key }) => key);
    for (const index of [this.#byKey, this.#ids, this.#ends]) index.clear();
    for (const [key, rules] of Map.groupBy(this.#rules, (rule) => rule.key)) this.#note(key, rules);
    for (const rule of manual) this.#noteEnd(rule.key, rule);
  }

  #merge(keys: ReadonlySet<string>, { documents, config, ...sources }: MergedSources): void {
    const ofEvery = valueIn(documents, resets, everyRule);
    const [gone, come]: [MergedRule[], MergedRule[]] = [[], []];
    for (const key of keys) {
      const [set] = valueIn(documents, manualRules, key);
      const rules = mergeRules({
        ...sources,
        config: this.#declared.get(key) ?? [],
        manual: set === undefined ? [] : [set],
        epochs: resetEpochs([...valueIn(documents, resets, key), ...ofEvery]),
      });
      gone.push(...(this.#byKey.get(key) ?? []));
      come.push(...rules);
      this.#note(key, rules);
      this.#noteEnd(key, set);
    }
    // Short ids that meet are told apart among all rules.
    if (this.#ids.size < this.#byKey.size) this.#mergeAll({ documents, config, ...sources });
    else this.#rules = changedOrder(this.#rules, gone, come, compareRules);
  }

  #noteEnd(key: string, rule: ManualRule | undefined): void {
    if (rule?.expiresAt === undefined) this.#ends.delete(key);
    else this.#ends.set(key, { rule, endMs: expiryMs(rule) });
  }

  #note(key: string, rules: readonly MergedRule[]): void {
    const by = Number(rules.length > 0) - Number(this.#byKey.has(key));
    if (rules.length > 0) this.#byKey.set(key, rules);
    else this.#byKey.delete(key);
    if (by === 0) return;
    const id = ruleId(key);
    const count = (this.#ids.get(id) ?? 0) + by;
    if (count > 0) this.#ids.set(id, count);
    else this.#ids.delete(id);
  }
}

function ofKind({ kind }: Pick<ManagedKind<unknown>, 'kind'>, documents: readonly StoredDocument[]): StoredDocument[] {
  return documents.slice(...placesOf(documents, kind));
}

/** The ids of the documents of a kind that differ. */
function changedIds(
  kind: Pick<ManagedKind<unknown>, 'kind'>,
  before: readonly StoredDocument[],
  after: readonly StoredDocument[],
): string[] {
  const { gone, come } = differences(ofKind(kind, before), ofKind(kind, after), byId);
  return [...gone, ...come].map(({ id }) => id);
}

/** The readable documents of a kind. */
function valuesIn<Value>(documents: readonly StoredDocument[], managed: ManagedKind<Value>): Value[] {
  return ofKind(managed, documents).flatMap(({ id, body }) => managed.read(id, body) ?? []);
}

/** The document with this id, or none. */
function valueIn<Value>(documents: readonly StoredDocument[], managed: ManagedKind<Value>, id: string): Value[] {
  const document = entryIn(documents, { kind: managed.kind, id });
  const value = document && managed.read(id, document.body);
  return value === undefined ? [] : [value];
}
