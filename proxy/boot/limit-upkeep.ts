// The periodic work of the limiter: idle children are evicted, and the log says when children have to share a counter.
import { randomUUID } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import type { Logger } from 'pino';
import { ruleTitle } from '../../domain/rules/rule.ts';
import type { RuleProblem } from '../../domain/rules/unenforced.ts';
import type { Ledgers } from '../budgets/ledgers.ts';
import type { LimiterOptions } from '../limits/enforcement.ts';
import { Fleet } from '../limits/fleet/fleet.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { KeptSession } from './limit-session-file.ts';

/** How often idle counters are swept, and how many counters one sweep visits: it holds requests up for at most about 1 ms. */
const intervalMs = 200;
const visits = 1_000;

/** The share of the heap that counters may fill: the rest is for requests, and for cached look-ups. */
const heapShare = 1 / 2;
/** The share that the ledgers of budgets may fill. */
const ledgerShare = 1 / 16;

/** How the limiter of this process counts: its counters may come to half the heap. `isExported`: they are written to the state store. */
export function limiterSettings(tokensEnforced: boolean, isExported: boolean): Required<LimiterOptions> {
  return { tokensEnforced, isExported, mostBytes: getHeapStatistics().heap_size_limit * heapShare };
}

/** The most heap that the ledgers of budgets may take, in bytes. */
export function mostLedgerBytes(): number {
  return getHeapStatistics().heap_size_limit * ledgerShare;
}

export interface FleetSettings {
  readonly instance: string;
  readonly kept: KeptSession | undefined;
  readonly limiter: Limiter;
  readonly ledgers: Ledgers;
  /** How many proxies there are, as the operator says. */
  readonly expected: number;
}

/** The part of this proxy in limits that a fleet shares. */
export function openFleet({ instance, kept, limiter, ledgers, expected }: FleetSettings, nowMs: number): Fleet {
  const fleet = new Fleet(
    {
      instance,
      boot: randomUUID(),
      ...(kept?.generation === undefined ? {} : { generation: kept.generation }),
      expected: kept?.live ?? expected,
      *ownUses(now) {
        yield* limiter.ownUses(now);
        yield* ledgers.ownUses(now);
      },
    },
    nowMs,
  );
  limiter.share(fleet);
  ledgers.share(fleet);
  return fleet;
}

/** The parts of a proxy that hold counters. */
interface Counting {
  readonly limiter: Limiter;
  readonly ledgers: Ledgers;
}

/** Sweeps five times a second and tells when an overflow begins and ends, and how many stored counters were left out at the start. */
export function keepLimiter(
  { limiter, ledgers }: Counting,
  nowMs: () => number,
  log: Pick<Logger, 'warn' | 'info'>,
): void {
  const told = new Set<string>();
  let dropped = 0;
  setInterval(() => {
    limiter.sweep(nowMs(), visits);
    ledgers.sweep(nowMs(), visits);
    tell();
  }, intervalMs).unref();

  function tell(): void {
    if (limiter.dropped > dropped) {
      log.warn(`${limiter.dropped - dropped} stored counters of children were left out: there was no room for them`);
    }
    dropped = limiter.dropped;
    for (const { rule, isOverflowing } of limiter.overflows()) {
      if (isOverflowing === told.has(rule.key)) continue;
      if (isOverflowing) {
        told.add(rule.key);
        log.warn(
          `the per-child rule ${ruleTitle(rule)} has too many children: further ones share one counter (${bounds})`,
        );
      } else {
        told.delete(rule.key);
        log.info(`the children of the per-child rule ${ruleTitle(rule)} have counters of their own again`);
      }
    }
  }
}

/** Writes a line for each rule that was left out, or is not enforced. */
export function logRuleProblems(log: Pick<Logger, 'error' | 'warn'>): (problems: readonly RuleProblem[]) => void {
  return (problems) => {
    for (const { level, text } of problems) log[level](text);
  };
}

const bounds = 'rate_limits.max_children, and half the heap for all counters';
