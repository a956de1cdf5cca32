// Parses the state in its Redis hash: a field that is garbage is left out, and the others count.
import { inOrder } from '../../../domain/documents/order.ts';
import type { CounterRow } from '../../../domain/rules/counter-row.ts';
import { decodeCounts } from '../../../domain/rules/counter-text.ts';
import { changesOf, type NamedChange } from '../changes.ts';
import { mergedRuns } from '../merged-runs.ts';
import {
  bodyText,
  type Document,
  type DocumentKey,
  type Heartbeat,
  type PastChange,
  type StateChanges,
  type StoredCounters,
  type StoredState,
  type StorePosition,
} from '../state-store.ts';
import type { StoreFailure } from '../store-unavailable.ts';
import { changeField, documentField, keysVersion, kindField, parseCounterField } from './keys.ts';

/** The field of a document; unlike the texts themselves, their JSON can be taken apart again. */
export function fieldOf(key: DocumentKey): string {
  return documentField + nameOf(key);
}

function nameOf({ kind, id }: DocumentKey): string {
  return JSON.stringify([kind, id]);
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

/** Collects the fields of the hash, whose portions may be as of several moments. */
export class FieldReading {
  readonly #kinds = new Map<string, number>();
  readonly #past = new Map<number, PastChange>();
  readonly #runs: Document[][] = [];
  readonly #skipped: DocumentKey[][] = [];

  /** Takes fields and values in turn. */
  take(flat: readonly string[]): void {
    for (let at = 0; at + 1 < flat.length; at += 2) {
      const [field = '', value = ''] = [flat[at], flat[at + 1]];
      if (field.startsWith(changeField)) {
        const change = parseChange(value);
        if (change !== undefined) this.#past.set(Number(field.slice(changeField.length)), change);
      }
      if (field.startsWith(kindField)) {
        const changed = Number(value);
        if (Number.isSafeInteger(changed) && changed > 0) this.#kinds.set(field.slice(kindField.length), changed);
      }
    }
    const { documents, skipped } = parseDocuments(flat);
    this.#runs.push(documents);
    this.#skipped.push(skipped);
  }

  /** The state, which stood there when it was begun to be read. */
  async stateAt(position: StorePosition): Promise<StoredState> {
    const [documents, skipped] = [await mergedRuns(this.#runs), await mergedRuns(this.#skipped)];
    const state = { ...position, kinds: this.#kinds, documents, skipped };
    return this.#past.size === 0 ? state : { ...state, past: new Map([...this.#past].sort(([a], [b]) => a - b)) };
  }
}

/** Among fields and values in turn, the documents and those that are garbage, both sorted. */
function parseDocuments(flat: readonly string[]): { readonly documents: Document[]; readonly skipped: DocumentKey[] } {
  const [documents, skipped]: [Document[], DocumentKey[]] = [[], []];
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const [field = '', value = ''] = [flat[at], flat[at + 1]];
    if (!field.startsWith(documentField)) continue;
    const key = parseField(field);
    const document = key === undefined ? undefined : parseDocument(key, value);
    if (document === undefined) skipped.push(key ?? { kind: '', id: field.slice(documentField.length) });
    else documents.push(document);
  }
  return { documents: documents.sort(inOrder), skipped: skipped.sort(inOrder) };
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

/** The stored text of a change. `changed`: all documents that it wrote or deleted, named as their fields are, for scripts. */
export function changeText({ marks, deleted }: PastChange, changed?: readonly DocumentKey[]): string {
  const names = changed && [...new Set(changed.map(nameOf))];
  return JSON.stringify({ marks, deleted: deleted.map(({ kind, id }) => [kind, id]), names });
}

/** Texts of changes as `sinceScript` gives them, and fields and values in turn of the documents that they name and that are there. */
export function parseSince(
  position: StorePosition & { readonly storeId: string },
  texts: readonly string[],
  flat: readonly string[],
): StateChanges {
  const revision = position.revision - texts.length;
  const changes = texts.map((text, index): NamedChange => {
    const { names } = parse(text) as { readonly names: readonly string[] };
    const past = parseChange(text) ?? { marks: [], deleted: [] };
    return { revision: revision + index + 1, past, names: names.flatMap((name) => keyOf(parse(name)) ?? []) };
  });
  return changesOf(position, changes, parseDocuments(flat));
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
