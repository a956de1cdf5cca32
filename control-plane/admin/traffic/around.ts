// What a plan has to know besides the requests of a time: what operators have set, what budgets had spent, and how long the windows of limits are.
import { manualRules } from '../../../domain/documents/kinds.ts';
import { readKind, type StoredDocument } from '../../../domain/documents/managed-kind.ts';
import { liveSettingsOf } from '../../../domain/replays/live-settings.ts';
import type { SpentBefore, TrafficHead } from '../../../domain/replays/traffic-head.ts';
import type { Rule } from '../../../domain/rules/rule.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { RecordStore } from '../../../store/records/record-store.ts';
import type { AskedBudget } from '../../budgets/standing.ts';

export interface AroundParts {
  /** Rejects with `StoreUnavailable`. */
  readonly documents: () => Promise<readonly StoredDocument[]>;
  /** Of the configuration. */
  readonly rules: () => readonly Pick<Rule, 'periodSeconds'>[];
  /** The budgets in force, in the windows of a moment. Unix milliseconds. */
  readonly budgetsAt: (atMs: number) => readonly AskedBudget[];
}

/** Requests before the time fill windows of at most this length. Milliseconds. */
const longestWarmMs = 86_400_000;
/** The most subjects whose spend is told. */
const mostSpenders = 50_000;

export interface Around extends Pick<TrafficHead, 'warm_from' | 'live' | 'spent'> {
  /** Of the first line. Unix milliseconds. */
  readonly beginMs: number;
}

/** Of a time that begins at `fromMs`. Rejects with `StoreUnavailable`. */
export async function readAround(
  { documents, rules, budgetsAt }: AroundParts,
  records: Pick<RecordStore, 'spend'>,
  { fromMs, nowMs }: { readonly fromMs: number; readonly nowMs: number },
): Promise<Around> {
  const stored = await documents();
  const all = [...rules(), ...readKind(manualRules, stored).values];
  const longestMs = all.reduce((longest, { periodSeconds }) => Math.max(longest, periodSeconds * 1_000), 0);
  const beginMs = fromMs - Math.min(longestMs, longestWarmMs);
  return {
    beginMs,
    ...(beginMs === fromMs ? {} : { warm_from: timestamp(beginMs) }),
    live: liveSettingsOf(stored, nowMs),
    spent: await spentBefore(budgetsAt(beginMs), records, beginMs),
  };
}

async function spentBefore(
  asked: readonly AskedBudget[],
  records: Pick<RecordStore, 'spend'>,
  beginMs: number,
): Promise<SpentBefore[]> {
  const spends = await records.spend(
    asked.map(({ question }) => question),
    beginMs,
  );
  const rows: SpentBefore[] = [];
  let spenders = 0;
  for (const [place, { budget, window }] of asked.entries()) {
    const spent = [...(spends[place] ?? [])];
    spenders += spent.length;
    if (spenders > mostSpenders) break;
    const { scope, matchSubject: subject, perChild: per_child, periodSeconds: period_seconds } = budget;
    rows.push({ scope, subject, per_child, period_seconds, window_ms: window.startMs, spent });
  }
  return rows;
}
