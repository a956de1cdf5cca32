// The store's side of shared limits as a pure function over tables: what is used and held under each counter, and by whom. The embedded store
// runs it as it stands; the script of Redis does the same, held to it by one suite of cases.
//
// For each counter: used in the trailing period + held by all sessions ≤ cap, as far as sessions use only what was granted. A grant moves units
// from free to held, a report from held to used, in the slice in which they were used. So no trailing period holds more uses than the cap.
import {
  type AttachAnswer,
  type AttachMessage,
  type DetachMessage,
  type ExchangeAnswer,
  type ExchangeMessage,
  exchangeVersion,
  type LimitNotice,
  type LimitView,
} from '../../../domain/limits/exchange.ts';
import { buryHeld, copyOf, newestOf, oldestOf, openOf, turn } from './counter.ts';
import { Exchanging } from './exchanging.ts';
import { type LimitGrave, type LimitMeta, type LimitSession, type LimitTables, lastUseMs } from './tables.ts';

/** A session that was silent for so long, in running time, is buried. */
export const burialMs = 10_000;
/** What a session holds may be used for so long after it was last heard. */
export const usableMs = 3_000;
/** Behind a loss, grants wait for so long at most until all sessions have told. */
export const recoveryMs = 2_000;
/** A grave is kept for a day, the longest period that most rules have, and an hour. */
export const graveMs = 90_000_000;
/** The time that one message may add to the running time. */
const longestStepMs = 1_000;

/** Whether a newer version of the gateway writes to the store: then this one must not. */
export function isNewer(tables: LimitTables): boolean {
  return (tables.meta()?.version ?? 0) > exchangeVersion;
}

/** Begins a session, or goes on with one. `clockMs`: the store's clock, in whole Unix milliseconds. */
export function attach(tables: LimitTables, message: AttachMessage, clockMs: number): AttachAnswer {
  const meta = tables.meta() ?? newMeta(message, clockMs);
  meta.version = exchangeVersion;
  const nowMs = advance(meta, clockMs);
  const later = laterSession(tables, message);
  if (later !== undefined) return lateAnswer(tables, meta, later);
  const isForeign = message.generation !== undefined && message.generation !== meta.generation;
  const former = formerOf(tables, isForeign ? undefined : message.session, message);
  buryOthers(tables, meta, message.instance, former.kind === 'known' ? former.id : undefined);
  const id = former.kind === 'known' ? former.id : meta.nextSession++;
  const { instance, boot, connection } = message;
  const hasTold = former.kind === 'known' ? former.session.hasTold : !isForeign;
  const sequence = former.kind === 'known' ? former.session.sequence : 0;
  const session = { instance, boot, connection, sequence, seenMs: meta.runningMs, contactMs: nowMs, hasTold };
  tables.putSession(id, session);
  if (message.server !== meta.server) beginRecovery(tables, meta, message.live, true);
  else if (isForeign) beginRecovery(tables, meta, message.live, false);
  meta.server = message.server;
  const { live, rank } = census(tables, id);
  meta.live = live;
  const recovering = isRecovering(meta);
  tables.putMeta(meta);
  const { version, generation } = meta;
  const applied = former.kind === 'unknown' ? 0 : former.session.sequence;
  return {
    version,
    now: nowMs,
    generation,
    session: id,
    former: former.kind,
    sequence: applied,
    live,
    rank,
    recovering,
  };
}

/** The session of the same run of the proxy on a later connection: the message was sent before, and changes nothing. */
function laterSession(tables: LimitTables, { instance, boot, connection }: AttachMessage): LimitSessionOf | undefined {
  const found = tables.sessions().find(([, session]) => session.instance === instance && session.boot === boot);
  return found !== undefined && found[1].connection > connection ? { id: found[0], session: found[1] } : undefined;
}

/** Nobody hears it: the connection is over. */
function lateAnswer(tables: LimitTables, meta: LimitMeta, { id, session }: LimitSessionOf): AttachAnswer {
  const { live, rank } = census(tables, id);
  meta.live = live;
  const recovering = isRecovering(meta);
  tables.putMeta(meta);
  const { version, generation, lastMs: now } = meta;
  return { version, now, generation, session: id, former: 'known', sequence: session.sequence, live, rank, recovering };
}

function newMeta({ fresh, server }: AttachMessage, clockMs: number): LimitMeta {
  return {
    version: exchangeVersion,
    generation: fresh,
    offsetMs: 0,
    lastMs: clockMs,
    runningMs: 0,
    nextSession: 1,
    graves: 0,
    live: 0,
    server,
    recoveringUntilMs: 0,
    awaited: 0,
    told: 0,
  };
}

/** Moves the time of the store on. It never goes back. */
function advance(meta: LimitMeta, clockMs: number): number {
  if (clockMs + meta.offsetMs < meta.lastMs) meta.offsetMs = meta.lastMs - clockMs;
  const nowMs = clockMs + meta.offsetMs;
  meta.runningMs += Math.min(nowMs - meta.lastMs, longestStepMs);
  meta.lastMs = nowMs;
  return nowMs;
}

interface LimitSessionOf {
  readonly id: number;
  readonly session: LimitSession;
}

type Former =
  | { readonly kind: 'known'; readonly id: number; readonly session: LimitSession }
  | { readonly kind: 'buried'; readonly session: LimitGrave }
  | { readonly kind: 'unknown' };

/** The session that a message names. Numbers are given anew behind a loss, so it must be of the same run of the same proxy. */
function formerOf(tables: LimitTables, id: number | undefined, { instance, boot }: AttachMessage): Former {
  if (id === undefined) return { kind: 'unknown' };
  const isOwn = (found: LimitSession | LimitGrave): boolean => found.instance === instance && found.boot === boot;
  const session = tables.session(id);
  if (session !== undefined && isOwn(session)) return { kind: 'known', id, session };
  const grave = tables.grave(id);
  return grave !== undefined && isOwn(grave) ? { kind: 'buried', session: grave } : { kind: 'unknown' };
}

/** Ends the former sessions of the instance: a lock proves that their process is gone. */
function buryOthers(tables: LimitTables, meta: LimitMeta, instance: string, own: number | undefined): void {
  for (const [id, session] of tables.sessions()) {
    if (session.instance === instance && id !== own) bury(tables, meta, { id, session });
  }
}

/** What the session holds counts as used at the last moment at which it can have been. */
function bury(
  tables: LimitTables,
  meta: LimitMeta,
  { id, session }: { readonly id: number; readonly session: LimitSession },
): void {
  const { instance, boot, sequence, contactMs } = session;
  tables.putGrave(id, { usedMs: Math.min(meta.lastMs, contactMs + usableMs), sequence, instance, boot });
  tables.putSession(id, undefined);
  meta.graves += 1;
}

/**
 * Grants nothing until all sessions have told what they hold and have used: `all` of them anew, because the store may have lost its last
 * seconds; or the one that has just come, which knew another store. `known`: how many sessions that one knew.
 */
function beginRecovery(tables: LimitTables, meta: LimitMeta, known: number, all: boolean): void {
  const isUnderWay = isRecovering(meta) && !all;
  let untold = 0;
  let told = 0;
  for (const [id, session] of tables.sessions()) {
    if (all && session.hasTold) tables.putSession(id, { ...session, hasTold: false });
    if (all || !session.hasTold) untold += 1;
    else told += 1;
  }
  // One that began behind the loss has nothing to tell, and does not stand for one that has.
  if (isUnderWay) told = meta.told;
  meta.awaited = Math.max(untold + told, known, isUnderWay ? meta.awaited : 0);
  meta.told = told;
  if (!isUnderWay) meta.recoveringUntilMs = meta.runningMs + recoveryMs;
}

function isRecovering(meta: LimitMeta): boolean {
  if (meta.runningMs >= meta.recoveringUntilMs || meta.told >= meta.awaited) meta.recoveringUntilMs = 0;
  return meta.recoveringUntilMs > 0;
}

/** How many sessions there are, and how many of them are older than this one. */
function census(tables: LimitTables, own: number): { live: number; rank: number } {
  let live = 0;
  let rank = 0;
  for (const [id] of tables.sessions()) {
    live += 1;
    if (id < own) rank += 1;
  }
  return { live, rank };
}

/** Books what a session reports, and grants what it wants, as far as there is room. `tell` is called for each notice to all proxies. */
export function exchange(
  tables: LimitTables,
  message: ExchangeMessage,
  clockMs: number,
  tell: (notice: LimitNotice) => void,
): ExchangeAnswer {
  const meta = tables.meta();
  const session = meta && tables.session(message.session);
  if (meta === undefined || session === undefined) return { status: 'unknown' };
  if (session.connection !== message.connection || message.sequence <= session.sequence) return { status: 'stale' };
  const nowMs = advance(meta, clockMs);
  session.sequence = message.sequence;
  session.seenMs = meta.runningMs;
  session.contactMs = nowMs;
  if (message.told && !session.hasTold) {
    session.hasTold = true;
    meta.told += 1;
  }
  tables.putSession(message.session, session);
  if (message.beat) burySilent(tables, meta);
  const { live, rank } = census(tables, message.session);
  meta.live = live;
  const work = new Exchanging(tables, meta, message, { nowMs, tell });
  const recovering = isRecovering(meta);
  if (!recovering) work.grant();
  const answers = work.finish();
  tables.putMeta(meta);
  const { sequence } = message;
  return { status: 'done', sequence, now: nowMs, live, rank, recovering, answers, admitted: work.admitted };
}

function burySilent(tables: LimitTables, meta: LimitMeta): void {
  for (const [id, session] of tables.sessions()) {
    if (meta.runningMs - session.seenMs > burialMs) bury(tables, meta, { id, session });
  }
}

/** Ends a session that holds nothing. */
export function detach(tables: LimitTables, { session: id, connection }: DetachMessage, clockMs: number): void {
  const meta = tables.meta();
  const session = meta && tables.session(id);
  if (meta === undefined || session?.connection !== connection) return;
  advance(meta, clockMs);
  bury(tables, meta, { id, session });
  tables.putMeta(meta);
}

/** Reads a counter; changes nothing. */
export function look(tables: LimitTables, key: string, clockMs: number): LimitView {
  const meta = tables.meta();
  const found = meta && tables.counter(key);
  if (meta === undefined || found === undefined) return { used: 0, held: 0, oldest: -1, newest: -1, sessions: [] };
  const counter = copyOf(found);
  const nowMs = Math.max(meta.lastMs, clockMs + meta.offsetMs);
  turn(counter, nowMs);
  buryHeld(counter, meta.graves, (id) => lastUseMs(tables, id, nowMs));
  const { used, held, sessions } = counter;
  const holders = [...sessions].sort(([one], [other]) => one - other);
  const names = holders.map(([id, units]) => {
    return [tables.session(id)?.instance ?? '', units, openOf(counter, id)] as const;
  });
  return { used, held, oldest: oldestOf(counter), newest: newestOf(counter), sessions: names };
}
