// Short words for what tests of the limiter do in every line: ask as a consumer, and read what is counted.

import type { CounterRow } from '../../../domain/rules/counter-row.ts';
import type { Rule } from '../../../domain/rules/rule.ts';
import type { Lease } from '../../../proxy/limits/lease.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import { exported } from '../../support/counter-rows.ts';

/** When every test begins. */
export const start = 1_800_000_000_000;
export const minute = 60;

export function limiterOf(...rules: Rule[]): Limiter {
  const limiter = createLimiter();
  limiter.reconcile(rules);
  return limiter;
}

/** Asks as a consumer; true when admitted. */
export function ask(limiter: Limiter, path: string, nowMs: number = start): boolean {
  return limiter.admit(limiter.forUserPath(path), nowMs, 'reject').lease !== undefined;
}

export function lease(limiter: Limiter, path: string, nowMs: number = start): Lease {
  const admission = limiter.admit(limiter.forUserPath(path), nowMs, 'reject');
  if (admission.lease === undefined) throw new Error(`${path} was refused`);
  return admission.lease;
}

export function admitted(limiter: Limiter, path: string, tries: number, nowMs: number = start): number {
  return Array.from({ length: tries }, () => ask(limiter, path, nowMs)).filter(Boolean).length;
}

export function used(limiter: Limiter, path: string, nowMs: number = start): number[] {
  return limiter.report(limiter.forUserPath(path), nowMs).map(({ requestsUsed }) => requestsUsed);
}

export function inFlight(limiter: Limiter, path: string): number[] {
  return limiter.report(limiter.forUserPath(path), start).map((report) => report.inFlight);
}

/** Every window in which something is counted, as it would be stored; all of them count as exported. */
export function everyRow(limiter: Limiter): CounterRow[] {
  limiter.exportAgain();
  return exported(limiter).filter(({ requests, tokens }) => requests.length + tokens.length > 0);
}

/** Decisions of all rules together, by dimension and outcome. */
export function decided(limiter: Limiter): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { dimension, outcome, count } of limiter.decisions()) {
    const what = `${dimension} ${outcome}`;
    sums[what] = (sums[what] ?? 0) + count;
  }
  return sums;
}
