// A limiter that shares its rules with others through tables in memory. Its clock is that of the store, and its messages take no time.
import type { LimitNotice } from '../../../../domain/limits/exchange.ts';
import type { OnStoreLoss } from '../../../../domain/rules/on-store-loss.ts';
import type { Admission } from '../../../../proxy/limits/admit.ts';
import { Fleet } from '../../../../proxy/limits/fleet/fleet.ts';
import { createLimiter, type Limiter } from '../../../../proxy/limits/limiter.ts';
import { attach, exchange } from '../../../../store/state/limits/book.ts';
import { MemoryTables } from '../../../support/limit-tables.ts';

export type Rules = Parameters<Limiter['reconcile']>[0];

interface SharingOptions {
  readonly instance?: string;
  /** Those of the other proxies. */
  readonly tables?: MemoryTables;
  /** Milliseconds. */
  readonly nowMs?: number;
  readonly onStoreLoss?: OnStoreLoss;
}

export class SharingProxy {
  readonly tables: MemoryTables;
  readonly limiter: Limiter = createLimiter({ isExported: false });
  readonly fleet: Fleet;
  nowMs: number;

  constructor(rules: Rules, more: SharingOptions = {}) {
    const { instance = 'a', tables = new MemoryTables(), nowMs = 1_800_000_000_000, onStoreLoss = 'share' } = more;
    this.tables = tables;
    this.nowMs = nowMs;
    const ownUses = (atMs: number) => this.limiter.ownUses(atMs);
    this.fleet = new Fleet({ instance, boot: 'b', ownUses }, this.nowMs);
    this.limiter.share(this.fleet);
    this.limiter.reconcile(rules, { isShared: true, onStoreLoss });
    this.attach('run');
    this.#exchange();
  }

  /** A connection to a run of the server. */
  attach(server: string): void {
    const message = this.fleet.attachMessage('fresh', server);
    this.fleet.attached(attach(this.tables, message, this.nowMs), this.nowMs, this.nowMs);
  }

  #exchange(): void {
    const told: LimitNotice[] = [];
    const answer = exchange(this.tables, this.fleet.message(this.nowMs), this.nowMs, (notice) => told.push(notice));
    this.fleet.answered(answer, this.nowMs);
    for (const notice of told) this.fleet.told(notice, this.nowMs);
  }

  /** Lets time pass, and begins the exchanges that are due. */
  pass(ms: number): void {
    this.nowMs += ms;
    this.fleet.pass(this.nowMs);
    while (this.fleet.isDue(this.nowMs)) this.#exchange();
  }

  /** The connection to the store ends, and so much time passes that it counts as lost. */
  loseStore(): void {
    this.fleet.detached(this.nowMs);
    this.nowMs += 5_000;
    this.fleet.pass(this.nowMs);
  }

  /** A request that will probably take so many tokens. */
  ask(path: string, wanted = 0): Admission | Promise<Admission> {
    return this.limiter.admitSoon(this.limiter.forUserPath(path), this.nowMs, { rejectedAs: 'reject', wanted });
  }
}
