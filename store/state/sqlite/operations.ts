// The operations of the embedded state store in SQL; every method is one transaction on an open database.
import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { forgottenAfterMs, mostNamed, mostPast } from '../state-store.ts';
import { createPast, createUses } from './ddl.ts';
import type {
  CommitInput,
  CommitOutput,
  CountersInput,
  EndInput,
  HeartbeatInput,
  LoadInput,
  LoadOutput,
  PageInput,
  RevisionOutput,
  RewriteInput,
  SinceInput,
  TakeInput,
  TakeOutput,
  TextChange,
  TextName,
  TextNames,
  UsedInput,
  UsesInput,
} from './messages.ts';
import { transact } from './transact.ts';
import { endTurn, takeTurn } from './turns.ts';

/** Whether the text is JSON: garbage in one document must not cost the others. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * JSON of `head` with the documents of `rows`. Bodies are put in as they are stored, so they are parsed only where they are wanted; those
 * that are garbage are skipped.
 */
function withFound(head: object, rows: readonly Record<string, unknown>[]): string {
  const documents: string[] = [];
  const skipped: unknown[] = [];
  for (const { kind, id, revision, body } of rows) {
    const text = String(body);
    if (isJson(text)) documents.push(`${JSON.stringify([kind, id, Number(revision)]).slice(0, -1)},${text}]`);
    else skipped.push([kind, id]);
  }
  return `${JSON.stringify({ ...head, skipped }).slice(0, -1)},"documents":[${documents.join(',')}]}`;
}

/** A list that was stored as text; empty for garbage. */
function listIn(text: unknown): readonly unknown[] {
  const list: unknown = typeof text === 'string' && isJson(text) ? JSON.parse(text) : undefined;
  return Array.isArray(list) ? list : [];
}

/** In the place of the former row: to remove it and put another one changes three indexes. */
const putCounter = `INSERT INTO counter VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
  SET counts = excluded.counts, expires_at_ms = excluded.expires_at_ms`;

/** The operations on one open database; statements are prepared once. */
export class StateTables {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** The text of a `PageOutput`. */
  readPage({ after, limit }: PageInput): string {
    return transact(this.#database, 'DEFERRED', () => {
      const select = (where: string): StatementSync =>
        this.#sql(`SELECT kind, id, revision, body FROM document ${where} ORDER BY kind, id LIMIT ?`);
      const rows = after === null ? select('').all(limit) : select('WHERE (kind, id) > (?, ?)').all(...after, limit);
      const end = rows.length < limit ? undefined : rows.at(-1);
      const last = end === undefined ? null : [end['kind'], end['id']];
      const kinds = after === null ? this.#sql('SELECT kind, revision FROM kind').all() : [];
      const numbers = kinds.map((row) => [row['kind'], Number(row['revision'])]);
      const past = after === null ? this.#past() : [];
      return withFound({ ...this.#position(), last, past, kinds: numbers }, rows);
    });
  }

  /** The text of a `SinceOutput`. */
  since({ storeId, revision: seen, mark, limit }: SinceInput): string {
    return transact(this.#database, 'DEFERRED', () => {
      const position = this.#position();
      if (storeId !== position.storeId || seen > position.revision || !this.#has('change_name')) return 'null';
      const [before, ...changes] = this.#past(seen);
      const isLine = before?.[0] === seen && before[1].includes(mark ?? '');
      const named = isLine ? this.#named(changes, position.revision - seen) : undefined;
      const names = new Map(named?.flatMap(([, , , each]) => each.map((name) => [JSON.stringify(name), name])));
      if (named === undefined || names.size > limit) return 'null';
      const find = this.#sql('SELECT kind, id, revision, body FROM document WHERE kind = ? AND id = ?');
      const rows = [...names.values()].map((name) => find.get(...name)).filter((row) => row !== undefined);
      return withFound({ ...position, changes: named }, rows);
    });
  }

  position(): RevisionOutput {
    return transact(this.#database, 'DEFERRED', () => this.#position());
  }

  commit({ storeId, mark, expected, changes }: CommitInput): CommitOutput {
    return transact(this.#database, 'IMMEDIATE', () => {
      const position = this.#position();
      if (storeId !== position.storeId) return null;
      const current = this.#sql('SELECT revision FROM kind WHERE kind = ?');
      if (expected.some(([kind, revision]) => Number(current.get(kind)?.['revision'] ?? 0) !== revision)) return null;
      if (changes.length === 0) return [position.revision, position.mark];
      const revision = position.revision + 1;
      this.#setPosition(position.storeId ?? randomUUID(), revision);
      const deleted = changes.filter(([, , body]) => body === null).map(([kind, id]) => [kind, id] as const);
      this.#database.exec(createPast);
      this.#putPast([revision, [mark], deleted]);
      this.#putNames(revision, mark, changes);
      this.#sql('DELETE FROM past_change WHERE revision <= ?').run(revision - mostPast);
      this.#sql('DELETE FROM change_name WHERE revision <= ?').run(revision - mostPast);
      for (const [kind, id, body] of changes) {
        if (body === null) this.#sql('DELETE FROM document WHERE kind = ? AND id = ?').run(kind, id);
        else this.#putDocument(kind, id, body, revision);
        this.#putKind(kind, revision);
      }
      return [revision, mark];
    });
  }

  /** The id in force afterwards. */
  initialise(): string {
    return transact(this.#database, 'IMMEDIATE', () => {
      const position = this.#position();
      const id = position.storeId ?? randomUUID();
      if (position.storeId === null) this.#setPosition(id, position.revision);
      return id;
    });
  }

  /** False when the store stands elsewhere than at `over`. */
  rewrite({ over, storeId, revision, past, kinds, documents }: RewriteInput): boolean {
    return transact(this.#database, 'IMMEDIATE', () => {
      const found = this.#position();
      if (found.storeId !== over.storeId || found.revision !== over.revision || found.mark !== over.mark) return false;
      this.#database.exec(
        `${createPast} DELETE FROM document; DELETE FROM kind; DELETE FROM past_change; DELETE FROM change_name`,
      );
      for (const [kind, changed] of kinds) this.#putKind(kind, changed);
      for (const [kind, id, written, body] of documents) this.#putDocument(kind, id, body, written);
      for (const change of past) this.#putPast(change);
      this.#setPosition(storeId, revision);
      return true;
    });
  }

  loadCounters({ instance, after, limit }: LoadInput): LoadOutput {
    return transact(this.#database, 'DEFERRED', () => {
      const [afterKey, afterChild] = after ?? ['', ''];
      const stored = this.#sql(
        'SELECT rule_key, child, counts FROM counter WHERE instance = ? AND (rule_key, child) > (?, ?) ORDER BY rule_key, child LIMIT ?',
      ).all(instance, afterKey, afterChild, limit);
      const rows = stored.map(
        ({ rule_key: key, child, counts }) => [String(key), String(child), String(counts)] as const,
      );
      const [lastKey, lastChild] = rows.at(-1) ?? [];
      const isFull = rows.length === limit && lastKey !== undefined && lastChild !== undefined;
      return { sequence: this.#sequence(instance), last: isFull ? [lastKey, lastChild] : null, rows };
    });
  }

  /** The stored sequence number when the write was refused, else null. */
  writeCounters({ instance, sequence, nowMs, removed, rows }: CountersInput): number | null {
    return transact(this.#database, 'IMMEDIATE', () => {
      const stored = this.#sequence(instance);
      if (!(sequence > stored)) return stored;
      const removeRule = this.#sql('DELETE FROM counter WHERE instance = ? AND rule_key = ?');
      for (const key of removed) removeRule.run(instance, key);
      const remove = this.#sql('DELETE FROM counter WHERE instance = ? AND rule_key = ? AND child = ?');
      const put = this.#sql(putCounter);
      for (const [key, child, counts, expires] of rows) {
        if (expires === null) remove.run(instance, key, child);
        else put.run(instance, key, child, counts, expires);
      }
      // Rows of other instances expire by the clocks of those; only rows that were not cleared for long are garbage.
      this.#sql('DELETE FROM counter WHERE expires_at_ms <= ? AND instance = ?').run(nowMs, instance);
      this.#sql('DELETE FROM counter WHERE expires_at_ms <= ?').run(nowMs - forgottenAfterMs);
      this.#sql('INSERT OR REPLACE INTO counter_write VALUES (?, ?)').run(instance, sequence);
      return null;
    });
  }

  /** `body`: JSON. */
  writeHeartbeat({ instance, atMs }: HeartbeatInput, body: string): void {
    transact(this.#database, 'IMMEDIATE', () => {
      this.#sql('INSERT OR REPLACE INTO heartbeat VALUES (?, ?, ?)').run(instance, atMs, body);
      this.#sql('DELETE FROM heartbeat WHERE at_ms <= ?').run(atMs - forgottenAfterMs);
    });
  }

  /**
   * The text of a list of `Heartbeat`. Bodies are put in as they are stored, and SQLite leaves out what is no JSON: to parse the figures of ten
   * thousand rules for that, twice a second, kept the collector busy.
   */
  heartbeats(instance: string | null): string {
    const wanted =
      'SELECT instance, at_ms, body FROM heartbeat WHERE (?1 IS NULL OR instance = ?1) AND json_valid(body) ORDER BY instance';
    const beats = this.#sql(wanted)
      .all(instance)
      .flatMap((row) => {
        const body = String(row['body']);
        // SQLite reads a text up to a NUL.
        if (body.includes('\0')) return [];
        const head = JSON.stringify({ instance: row['instance'], atMs: Number(row['at_ms']) });
        return [`${head.slice(0, -1)},"body":${body}}`];
      });
    return `[${beats.join(',')}]`;
  }

  removeHeartbeat(instance: string): void {
    this.#sql('DELETE FROM heartbeat WHERE instance = ?').run(instance);
  }

  noteUses({ kind, uses }: UsesInput): void {
    transact(this.#database, 'IMMEDIATE', () => {
      this.#database.exec(createUses);
      const note = this.#sql(
        'INSERT INTO document_use SELECT kind, id, ?3 FROM document WHERE kind = ?1 AND id = ?2 ON CONFLICT DO UPDATE SET hour = max(hour, excluded.hour)',
      );
      for (const [id, hour] of uses) note.run(kind, id, hour);
    });
  }

  usesOf({ kind, ids }: UsedInput): [id: string, hour: number][] {
    return transact(this.#database, 'DEFERRED', () => {
      if (!this.#hasUses()) return [];
      const hourOf = this.#sql('SELECT hour FROM document_use WHERE kind = ? AND id = ?');
      return ids.flatMap((id): [string, number][] => {
        const hour = hourOf.get(kind, id)?.['hour'];
        return hour === undefined ? [] : [[id, Number(hour)]];
      });
    });
  }

  forgetUses({ kind, ids }: UsedInput): void {
    transact(this.#database, 'IMMEDIATE', () => {
      if (!this.#hasUses()) return;
      const forget = this.#sql('DELETE FROM document_use WHERE kind = ? AND id = ?');
      for (const id of ids) forget.run(kind, id);
    });
  }

  takeTurn(input: TakeInput): TakeOutput {
    return takeTurn(this.#database, input);
  }

  /** When it ended; null: another process holds it. */
  endTurn(input: EndInput): number | null {
    return endTurn(this.#database, input);
  }

  #hasUses(): boolean {
    return this.#has('document_use');
  }

  /** Files of older versions do not have every table. */
  #has(table: string): boolean {
    return this.#sql('SELECT 1 FROM sqlite_master WHERE name = ?').get(table) !== undefined;
  }

  #position(): RevisionOutput {
    const row = this.#sql('SELECT store_id, revision FROM store').get();
    const storeId = row?.['store_id'] ?? null;
    const revision = Number(row?.['revision'] ?? 0);
    return { storeId: storeId === null ? null : String(storeId), revision, mark: this.#mark(revision) };
  }

  #mark(revision: number): string | null {
    if (!this.#has('past_change')) return null;
    const marks = this.#sql('SELECT marks FROM past_change WHERE revision = ?').get(revision)?.['marks'];
    return (listIn(marks)[0] as string | undefined) ?? null;
  }

  /** The changes from that revision on. */
  #past(from: number = 0): TextChange[] {
    if (!this.#has('past_change')) return [];
    const rows = this.#sql(
      'SELECT revision, marks, deleted FROM past_change WHERE revision >= ? ORDER BY revision',
    ).all(from);
    return rows.map((row): TextChange => {
      const deleted = listIn(row['deleted']) as (readonly [string, string])[];
      return [Number(row['revision']), listIn(row['marks']) as string[], deleted];
    });
  }

  #putPast([revision, marks, deleted]: TextChange): void {
    const put = this.#sql('INSERT OR REPLACE INTO past_change VALUES (?, ?, ?)');
    put.run(revision, JSON.stringify(marks), JSON.stringify(deleted));
  }

  /** The changes with their names; undefined when those of one are not known, or when there are not so many. */
  #named(changes: readonly TextChange[], count: number): TextNames[] | undefined {
    const namesOf = this.#sql('SELECT names FROM change_name WHERE revision = ? AND mark = ?');
    const named = changes.flatMap(([revision, marks, deleted]): TextNames[] => {
      const row = namesOf.get(revision, marks[0] ?? '');
      return row === undefined ? [] : [[revision, marks, deleted, listIn(row['names']) as TextName[]]];
    });
    return named.length === count ? named : undefined;
  }

  #putNames(revision: number, mark: string, changes: CommitInput['changes']): void {
    if (changes.length > mostNamed) return;
    const names = JSON.stringify(changes.map(([kind, id]) => [kind, id]));
    this.#sql('INSERT OR REPLACE INTO change_name VALUES (?, ?, ?)').run(revision, mark, names);
  }

  #setPosition(storeId: string, revision: number): void {
    this.#sql('INSERT OR REPLACE INTO store VALUES (1, ?, ?)').run(storeId, revision);
  }

  #putKind(kind: string, revision: number): void {
    this.#sql('INSERT OR REPLACE INTO kind VALUES (?, ?)').run(kind, revision);
  }

  #putDocument(kind: string, id: string, body: string, revision: number): void {
    this.#sql('INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?)').run(kind, id, body, revision);
  }

  #sequence(instance: string): number {
    const row = this.#sql('SELECT sequence FROM counter_write WHERE instance = ?').get(instance);
    return Number(row?.['sequence'] ?? 0);
  }

  /** Numbers come as bigint, because one beyond 2^53 in a damaged file would otherwise throw. */
  #sql(text: string): StatementSync {
    const known = this.#prepared.get(text);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(text);
    statement.setReadBigInts(true);
    this.#prepared.set(text, statement);
    return statement;
  }
}
