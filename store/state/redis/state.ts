// Parses the state in its Redis hash: a field that is garbage is left out, and the others count.
import { type CounterRow, decodeCounts } from '../../../domain/rules/counter-row.ts';
import {
  bodyText,
  type Document,
  type DocumentKey,
  type Heartbeat,
  type PastChange,
  type StoredCounters,
  type StoredState,
  type StorePosition,
} from '../state-store.ts';
import type { StoreFailure } from '../store-unavailable.ts';
import { changeField, documentField, keysVersion, kindField, parseCounterField } from './keys.ts';

/** The field of a document; unlike the texts themselves, their JSON can be taken apart again. */
export function fieldOf({ kind, id }: DocumentKey): string {
  return documentField + JSON.stringify([kind, id]);
}

/** The fields that `parsePosition` reads, in its order. */
export const positionFields = ['version', 'store_id', 'revision', 'mark'] as const;

/** The position, or why there is none. */
export function parsePosition(
  version: string | null | undefined,
  storeId: string | null | undefined,
  revision: string | null | undefined,
  mark?: string | null,
): StorePosition | Extract<StoreFailure, 'corrupt' | 'newer_schema'> {
  if (Number(version ?? 0) > keysVersion) return 'newer_schema';
  if (!/^[0-9]{1,15}$/.test(revision ?? '0')) return 'corrupt';
  // An older version leaves the mark of an earlier revision behind.
  const [of, own] = (mark ?? '').split(':');
  const isOwn = of === (revision ?? '0') && own !== undefined && own !== '';
  return { storeId: storeId ?? undefined, revision: Number(revision ?? 0), ...(isOwn ? { mark: own } : {}) };
}

/** The fields of the hash as a state; or why it is none. */
export function parseState(
  fields: ReadonlyMap<string, string>,
): StoredState | Extract<StoreFailure, 'corrupt' | 'newer_schema'> {
  const [version, storeId, revision, mark] = positionFields.map((name) => fields.get(name));
  const position = parsePosition(version, storeId, revision, mark);
  if (typeof position === 'string') return position;
  const kinds = new Map<string, number>();
  const documents: Document[] = [];
  const skipped: DocumentKey[] = [];
  const past = new Map<number, PastChange>();
  for (const [field, value] of fields) {
    if (field.startsWith(changeField)) {
      const change = parseChange(value);
      if (change !== undefined) past.set(Number(field.slice(changeField.length)), change);
    }
    if (field.startsWith(kindField)) {
      const changed = Number(value);
      if (Number.isSafeInteger(changed) && changed > 0) kinds.set(field.slice(kindField.length), changed);
    }
    if (!field.startsWith(documentField)) continue;
    const key = parseField(field);
    const document = key === undefined ? undefined : parseDocument(key, value);
    if (document === undefined) skipped.push(key ?? { kind: '', id: field.slice(documentField.length) });
    else documents.push(document);
  }
  const state = { ...position, kinds, documents: documents.sort(inOrder), skipped: skipped.sort(inOrder) };
  return past.size === 0 ? state : { ...state, past: new Map([...past].sort(([a], [b]) => a - b)) };
}

/** Fields and values that say this state, in turn. */
export function fieldsOf(state: StoredState & { storeId: string }): string[] {
  const { storeId, revision, mark, kinds, documents, past = new Map<number, PastChange>() } = state;
  const flat = ['store_id', storeId, 'revision', String(revision)];
  if (mark !== undefined) flat.push('mark', `${revision}:${mark}`);
  for (const [number, change] of past) flat.push(`${changeField}${number}`, changeText(change));
  for (const [kind, changed] of kinds) flat.push(kindField + kind, String(changed));
  for (const document of documents) {
    flat.push(fieldOf(document), `{"revision":${document.revision},"body":${bodyText(document.body)}}`);
  }
  return flat;
}

/** The stored text of a change. */
export function changeText({ marks, deleted }: PastChange): string {
  return JSON.stringify({ marks, deleted: deleted.map(({ kind, id }) => [kind, id]) });
}

/** Undefined for garbage. */
function parseChange(text: string): PastChange | undefined {
  const { marks, deleted } = (parse(text) ?? {}) as { marks?: unknown; deleted?: unknown };
  if (!Array.isArray(marks) || !Array.isArray(deleted)) return undefined;
  const keys = deleted.flatMap((names) => keyOf(names) ?? []);
  return { marks: marks.filter((mark) => typeof mark === 'string'), deleted: keys };
}

/** The counters of a field of their hash; undefined for garbage. */
function parseRow(field: string, text: string): CounterRow | undefined {
  const names = parseCounterField(field);
  return names === undefined ? undefined : decodeCounts(names[0], names[1], text);
}

/** Undefined for garbage. */
export function parseHeartbeat(instance: string, text: string): Heartbeat | undefined {
  const { at_ms: atMs, body } = (parse(text) ?? {}) as { at_ms?: unknown; body?: unknown };
  if (body === undefined || !Number.isSafeInteger(atMs)) return undefined;
  return { instance, atMs: atMs as number, body };
}

/** Undefined for a field that the gateway did not write. */
function parseField(field: string): DocumentKey | undefined {
  return keyOf(parse(field.slice(documentField.length)));
}

function keyOf(names: unknown): DocumentKey | undefined {
  if (!Array.isArray(names)) return undefined;
  const [kind, id]: unknown[] = names;
  return typeof kind === 'string' && typeof id === 'string' ? { kind, id } : undefined;
}

function parseDocument(key: DocumentKey, text: string): Document | undefined {
  const { revision, body } = (parse(text) ?? {}) as { revision?: unknown; body?: unknown };
  if (body === undefined || !Number.isSafeInteger(revision)) return undefined;
  return { kind: key.kind, id: key.id, body, revision: revision as number };
}

function parse(text: string): object | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function inOrder(a: DocumentKey, b: DocumentKey): number {
  if (a.kind !== b.kind) return a.kind < b.kind ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/** A page of an instance's hash, fields and values in turn, with its field `sequence`. */
export function parseCounters(sequence: unknown, flat: readonly string[]): StoredCounters {
  const rows: CounterRow[] = [];
  let skipped = 0;
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const [field = '', text = ''] = [flat[at], flat[at + 1]];
    if (field === 'sequence') continue;
    const row = parseRow(field, text);
    if (row === undefined) skipped += 1;
    else rows.push(row);
  }
  const number = Number(sequence ?? 0);
  return { sequence: Number.isSafeInteger(number) && number >= 0 ? number : 0, rows, skipped };
}
