// The rules of a state merged with those of the configuration. Of another state, only the rules that differ are merged again.
import { manualRules, resets } from '../../../domain/documents/kinds.ts';
import { differences, inOrder } from '../../../domain/documents/order.ts';
import { expiryMs } from '../../../domain/rules/authorship.ts';
import { type MergedRule, mergeRules } from '../../../domain/rules/merge.ts';
import type { RulePrerequisites } from '../../../domain/rules/obstacle.ts';
import { everyRule, resetEpochs } from '../../../domain/rules/reset-epochs.ts';
import { compareRules, type Rule } from '../../../domain/rules/rule.ts';
import { ruleId } from '../../../domain/rules/rule-id.ts';
import type { Document } from '../../../store/state/state-store.ts';
import { changedOrder } from '../../managed/changed-order.ts';
import { byKey } from '../../managed/known.ts';
import { storedKind } from '../../managed/stored-kind.ts';

interface Sources {
  readonly documents: readonly Document[];
  readonly config: readonly Rule[];
  readonly prerequisites: RulePrerequisites;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** Sorted. The same list as last time while nothing has changed. */
export function mergedRules(sources: Sources): readonly MergedRule[] {
  return last.at(sources);
}

export class MergedRules {
  #sources: Sources | undefined;
  #rules: readonly MergedRule[] = [];
  /** By key: two where one of the configuration counts beside one of an operator. */
  readonly #byKey = new Map<string, readonly MergedRule[]>();
  /** How many keys have this short id. */
  readonly #ids = new Map<string, number>();
  /** The ends of rules of operators, by key, in Unix milliseconds. */
  readonly #ends = new Map<string, number>();

  at(sources: Sources): readonly MergedRule[] {
    const before = this.#sources;
    this.#sources = sources;
    const keys = before === undefined ? undefined : this.#changedKeys(before, sources);
    if (keys === undefined) this.#mergeAll(sources);
    else if (keys.size > 0) this.#merge(keys, sources);
    return this.#rules;
  }

  /** Undefined: all rules are others. */
  #changedKeys(before: Sources, now: Sources): Set<string> | undefined {
    const [{ prerequisites: then }, { prerequisites }] = [before, now];
    const isSame =
      before.config === now.config &&
      then.known === prerequisites.known &&
      then.enabled === prerequisites.enabled &&
      then.usageEnabled === prerequisites.usageEnabled &&
      then.hasTemplates === prerequisites.hasTemplates;
    if (!isSame) return undefined;
    const { gone, come } = differences(before.documents, now.documents, inOrder);
    const kinds = new Set([manualRules.kind, resets.kind]);
    const keys = new Set([...gone, ...come].flatMap(({ kind, id }) => (kinds.has(kind) ? [id] : [])));
    if (keys.has(everyRule)) return undefined;
    // A clock that was set back brings rules back that had expired.
    for (const [key, endMs] of this.#ends) if (endMs <= before.nowMs !== endMs <= now.nowMs) keys.add(key);
    return keys;
  }

  #mergeAll({ documents, ...sources }: Sources): void {
    const manual = storedKind(manualRules, { documents }).values();
    const epochs = resetEpochs(storedKind(resets, { documents }).values());
    this.#rules = mergeRules({ ...sources, manual, epochs });
    for (const index of [this.#byKey, this.#ids, this.#ends]) index.clear();
    for (const [key, rules] of Map.groupBy(this.#rules, (rule) => rule.key)) this.#note(key, rules);
    for (const rule of manual) if (rule.expiresAt !== undefined) this.#ends.set(rule.key, expiryMs(rule));
  }

  #merge(keys: ReadonlySet<string>, { documents, config, ...sources }: Sources): void {
    const [manual, epochs] = [storedKind(manualRules, { documents }), storedKind(resets, { documents })];
    const declared = byKey(config, ({ key }) => key);
    const [gone, come]: [MergedRule[], MergedRule[]] = [[], []];
    for (const key of keys) {
      const set = manual.get(key);
      const rules = mergeRules({
        ...sources,
        config: listOf(declared.get(key)),
        manual: listOf(set),
        epochs: resetEpochs([...listOf(epochs.get(key)), ...listOf(epochs.get(everyRule))]),
      });
      gone.push(...(this.#byKey.get(key) ?? []));
      come.push(...rules);
      this.#note(key, rules);
      if (set?.expiresAt === undefined) this.#ends.delete(key);
      else this.#ends.set(key, expiryMs(set));
    }
    // Short ids that meet are told apart among all rules.
    if (this.#ids.size < this.#byKey.size) this.#mergeAll({ documents, config, ...sources });
    else this.#rules = changedOrder(this.#rules, gone, come, compareRules);
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

function listOf<Value>(value: Value | undefined): Value[] {
  return value === undefined ? [] : [value];
}

const last = new MergedRules();
