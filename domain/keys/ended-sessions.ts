// Sessions of browsers that were ended before their time, by logging out: a document for each key, bounded, which every plane looks at.
import { parseMoment } from '../../schemas/formats/moment.ts';
import { timestamp } from '../timestamp.ts';
import { type Session, sessionMs } from './session.ts';

/** The kind of these documents in the state store. */
export const endedSessionsKind = 'ended_sessions';
/** The id of the document that is about the sessions of every key. */
export const everyKey = '*';

/** Sessions of one key that are told apart. With more, all that the key has begun until then are over. */
export const mostOfOneKey = 32;
/** Documents. With more, all sessions that were begun until then are over. */
export const mostKeys = 1_000;
/** A document stays for so long after its sessions would be over anyway, because clocks differ and may be set. Milliseconds. */
const keptAfterMs = 86_400_000;

/** The sessions of one key that were ended. */
export interface EndedSessions {
  /** The owner of the sessions (`ownerOf`), or `everyKey`. */
  readonly id: string;
  /** By the id of a session: when it would be over by itself. Unix milliseconds. */
  readonly sessions: ReadonlyMap<string, number>;
  /** Every session that would be over by itself at this time or before. Unix milliseconds; 0: none. */
  readonly untilMs: number;
}

/** The documents by their id. */
export type EndedSessionsByOwner = ReadonlyMap<string, EndedSessions>;

export const noEndedSessions: EndedSessionsByOwner = new Map();

/** The documents by their owner. */
export function endedByOwner(all: readonly EndedSessions[]): EndedSessionsByOwner {
  return new Map(all.map((each) => [each.id, each]));
}

/** The owner of a session: the first 16 hex digits of its key's digest. They tell keys apart and grant nothing. */
export function ownerOf({ digest }: Pick<Session, 'digest'>): string {
  return digest.slice(0, 16);
}

/** Whether a session was ended before its time. */
export function isEnded(session: Session, ended: EndedSessionsByOwner): boolean {
  if (ended.size === 0) return false;
  const own = ended.get(ownerOf(session));
  const mostUntilMs = Math.max(own?.untilMs ?? 0, ended.get(everyKey)?.untilMs ?? 0);
  return session.endsAtMs <= mostUntilMs || own?.sessions.has(session.id) === true;
}

/** The documents to write and to remove, which end the session. */
export interface SessionEnding {
  readonly written: readonly EndedSessions[];
  readonly removed: readonly string[];
}

/**
 * Ends a session; `nowMs` in Unix milliseconds. Removes documents whose sessions are all over, so that there are never
 * more than `mostKeys` and one. Pure.
 */
export function endSession(stored: readonly EndedSessions[], session: Session, nowMs: number): SessionEnding {
  const isOver = (each: EndedSessions): boolean => lastMs(each) + keptAfterMs <= nowMs;
  const id = ownerOf(session);
  const over = stored.filter((each) => each.id !== id && isOver(each)).map((each) => each.id);
  const standing = stored.filter((each) => !over.includes(each.id));
  const own = standing.find((each) => each.id === id);
  const untilMs = Math.max(nowMs + sessionMs, session.endsAtMs);
  if (own === undefined && standing.length >= mostKeys) {
    const before = standing.find((each) => each.id === everyKey)?.untilMs ?? 0;
    const every = { id: everyKey, sessions: new Map<string, number>(), untilMs: Math.max(before, untilMs) };
    return { written: [every], removed: stored.filter((each) => each.id !== everyKey).map((each) => each.id) };
  }
  const kept = [...(own?.sessions ?? [])].filter(([, endsAtMs]) => endsAtMs + keptAfterMs > nowMs);
  const sessions = new Map([...kept, [session.id, session.endsAtMs]]);
  const next =
    sessions.size > mostOfOneKey
      ? { id, sessions: new Map<string, number>(), untilMs: Math.max(own?.untilMs ?? 0, untilMs) }
      : { id, sessions, untilMs: own?.untilMs ?? 0 };
  return { written: [next], removed: over };
}

function lastMs({ sessions, untilMs }: EndedSessions): number {
  return Math.max(untilMs, ...sessions.values());
}

/** The value of a document; undefined when it is invalid. */
export function readEndedSessions(id: string, body: unknown): EndedSessions | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { sessions: given, until } = body as { readonly sessions?: unknown; readonly until?: unknown };
  if (typeof given !== 'object' || given === null) return undefined;
  const sessions = new Map<string, number>();
  for (const [session, endsAt] of Object.entries(given)) {
    const endsAtMs = typeof endsAt === 'string' ? parseMoment(endsAt) : undefined;
    if (endsAtMs === undefined) return undefined;
    sessions.set(session, endsAtMs);
  }
  const untilMs = until === undefined ? 0 : typeof until === 'string' ? parseMoment(until) : undefined;
  return untilMs === undefined ? undefined : { id, sessions, untilMs };
}

/** The body of the document. */
export function endedSessionsBody({ sessions, untilMs }: EndedSessions): object {
  return {
    sessions: Object.fromEntries([...sessions].map(([id, endsAtMs]) => [id, timestamp(endsAtMs)])),
    ...(untilMs === 0 ? {} : { until: timestamp(untilMs) }),
  };
}
