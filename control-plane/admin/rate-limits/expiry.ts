// Removes the documents of expired rules, drains and pins. When none expires soon, it reads the store once a minute.

import { configPins, manualRules, resets, targetDrains } from '../../../domain/documents/kinds.ts';
import { removed } from '../../../domain/documents/managed-kind.ts';
import { expiryMs } from '../../../domain/rules/authorship.ts';
import type { ManualRule } from '../../../domain/rules/manual-rule.ts';
import type { Rule } from '../../../domain/rules/rule.ts';
import { standingDrains } from '../../../domain/targets/target-drain.ts';
import { singleFlight } from '../../../store/single-flight.ts';
import { type DocumentStore, expectedOf } from '../../managed/commit.ts';
import { storedKind } from '../../managed/stored-kind.ts';
import {
  forgetEpochs,
  knownRules,
  nextTidyMs,
  noteUnneeded,
  removeExpiredRules,
  type UnneededEpochs,
} from './changes.ts';

const checkMs = 1_000;
const restMs = 60_000;

export interface ExpiryParts {
  readonly store: DocumentStore;
  /** The rules of operators in force here that have an end, also those that have ended. */
  readonly ending: () => readonly ManualRule[];
  /** The rules of the configuration in force. */
  readonly config: () => readonly Rule[];
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  /** Is called every second, before rules that have ended are removed. */
  readonly tell: (ending: readonly ManualRule[], nowMs: number) => void;
}

export interface Expiry {
  /** Stops the checks. */
  close(): void;
}

/** Begins at once. After a failure of the store it tries again. */
export function removeExpired({ store, ending, config, nowMs, tell }: ExpiryParts): Expiry {
  const unneeded: UnneededEpochs = new Map();
  let nextAtMs = 0;

  async function check(): Promise<void> {
    const now = Math.floor(nowMs());
    const rules = ending();
    tell(rules, now);
    if (now < nextAtMs && !rules.some((rule) => expiryMs(rule) <= now)) return;
    nextAtMs = now + restMs;
    const dueMs = await tidyExpired(store, config(), now, unneeded).catch(() => now);
    nextAtMs = Math.min(nextAtMs, dueMs);
  }

  const checking = singleFlight(check);
  const timer = setInterval(() => void checking.join(), checkMs);
  return { close: () => clearInterval(timer) };
}

/**
 * Removes the documents of expired rules, drains and pins, and unneeded epochs, in one commit. Gives the Unix millisecond at which to call again: now after
 * a change or a conflict. Rejects with `StoreUnavailable`.
 */
export async function tidyExpired(
  store: DocumentStore,
  config: readonly Rule[],
  nowMs: number,
  unneeded: UnneededEpochs,
): Promise<number> {
  const state = await store.read();
  const known = knownRules(state, config, nowMs);
  noteUnneeded(known, unneeded);
  const drains = standingDrains(storedKind(targetDrains, state).values(), nowMs);
  const pins = storedKind(configPins, state).values();
  const ended = [
    ...drains.ended.map(({ key }) => removed(targetDrains, key)),
    ...pins.filter((pin) => expiryMs(pin) <= nowMs).map(({ key }) => removed(configPins, key)),
  ];
  const changes = [...removeExpiredRules(known), ...forgetEpochs(known, unneeded), ...ended];
  const ends = [nextTidyMs(known, unneeded), drains.nextEndMs ?? Number.POSITIVE_INFINITY, ...pins.map(expiryMs)];
  if (changes.length === 0) return Math.min(...ends);
  const expected = expectedOf(state, [manualRules, resets, targetDrains, configPins]);
  await store.commit({ storeId: state.storeId ?? null, expected, changes });
  return nowMs;
}
