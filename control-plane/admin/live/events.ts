// The events of the live stream as text (server-sent events): what they say, and from which cursor a client goes on. Pure.
import type { AuditEntry } from '../../../domain/records/audit-entry.ts';

/**
 * `slow`: the client did not read fast enough. `too_old`: more came in behind its cursor than is sent again. `unknown`: the cursor is not
 * of this record store.
 */
export type ResetReason = 'slow' | 'too_old' | 'unknown';

/** Entries come from here on. */
export function readyEvent(cursor: number): string {
  return event('ready', { cursor }, cursor);
}

/** Entries were left out, so lists have to be read again; the stream goes on from here. */
export function resetEvent(reason: ResetReason, cursor: number): string {
  return event('reset', { reason, cursor }, cursor);
}

/** The record store does not answer; the stream stays open, and `ready` follows when it answers again. */
export const unavailableEvent = event('unavailable', {});

/** `cursor`: only of the last entry of those that were read together. */
export function entryEvent(entry: AuditEntry, cursor?: number): string {
  return event('entry', entry, cursor);
}

/** Keeps the connection open, and moves the cursor of a client that saw nothing of what has come in. */
export function heartbeat(cursor: number | undefined): string {
  return `: heartbeat\n${idLine(cursor)}\n`;
}

/** Begins the stream: how long a client waits before it connects again, in milliseconds. */
export const opening = 'retry: 2000\n\n';

function event(name: string, data: object, cursor?: number): string {
  return `${idLine(cursor)}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

function idLine(cursor: number | undefined): string {
  return cursor === undefined ? '' : `id: ${cursor}\n`;
}
