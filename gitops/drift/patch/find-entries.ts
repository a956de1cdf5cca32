// Where the files declare limits, aliases, guardrails and budget windows, so that each is found among many. Pure.
import { type Document, isAlias, isMap, isScalar, isSeq, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';
import { aliasKey } from '../../../domain/aliases/manual-alias.ts';
import { normaliseBudgetSubject } from '../../../domain/budgets/budget.ts';
import { normaliseSubject } from '../../../domain/rules/scope.ts';
import type { SourceFile } from '../../read/read.ts';
import { asMeant } from '../literal.ts';
import { type Entry, isLimit, isListed, type LimitEntry, type SubjectList, subjectMembers } from '../override.ts';
import type { EditedText } from './edit-yaml.ts';
import { meaningOf } from './meaning.ts';

/** The entry of a subject. */
export interface SubjectPlace {
  readonly file: PatchedFile;
  /** The list that it stands in, and where. */
  readonly list: YAMLSeq;
  readonly index: number;
  readonly map: YAMLMap;
  /** Undefined: they stand for another text (`*name`). */
  readonly limits: YAMLSeq | undefined;
  readonly isTemplate: boolean;
  /** Why it cannot be changed here: a part of it has a name, so it may be used elsewhere. */
  readonly problem: string | undefined;
}

export interface LimitPlace {
  readonly subject: SubjectPlace;
  readonly index: number;
  readonly map: YAMLMap;
}

export interface EntryPlace {
  readonly file: PatchedFile;
  readonly map: YAMLMap;
}

export interface PatchedFile extends EditedText {
  readonly name: string;
}

export interface Places {
  readonly limits: Map<string, LimitPlace>;
  readonly subjects: Map<string, SubjectPlace[]>;
  readonly entries: Map<string, EntryPlace>;
}

const scopes = { user_paths: 'user_path', providers: 'provider', models: 'model', labels: 'label' } as const;
const listsOf = { rate_limits: ['user_paths', 'providers', 'models'], budgets: ['user_paths', 'labels'] } as const;
/** The key of budget windows among the entries: no name is like it. */
const windows = 'budgets.settings';

export function fileOf({ name, bytes }: Pick<SourceFile, 'name' | 'bytes'>): PatchedFile {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false });
  return { name, text, document, eol: /^[^\n]*\r\n/.test(text) ? '\r\n' : '\n' };
}

/** Of all files together; of two entries with one key the first counts. */
export function placesIn(files: readonly PatchedFile[]): Places {
  const places: Places = { limits: new Map(), subjects: new Map(), entries: new Map() };
  for (const file of files) {
    for (const section of ['rate_limits', 'budgets'] as const)
      for (const list of listsOf[section]) addSubjects(places, file, [section, list]);
    for (const section of ['aliases', 'guardrails'] as const) addEntries(places, file, section);
    const settings = nodeIn(file.document, ['budgets', 'settings']);
    if (isMap(settings)) places.entries.set(windows, { file, map: settings });
  }
  return places;
}

/** Names the entry among those of the files. */
export function keyOfEntry(entry: Entry): string {
  if (isLimit(entry)) return `${subjectKey(entry)} ${Number(meaningOf(entry, entry.limit)['seconds'])}`;
  if (!isListed(entry)) return windows;
  const { section, entry: value } = entry;
  return entryKey(section, String(section === 'aliases' ? value['source'] : value['name']));
}

export function subjectKey({ section, list, subject }: Pick<LimitEntry, 'section' | 'list' | 'subject'>): string {
  const scope = scopes[list];
  const { subject: comparable = subject } =
    section === 'budgets' || scope === 'label'
      ? normaliseBudgetSubject(scope === 'label' ? 'label' : 'user_path', subject)
      : normaliseSubject(scope, subject);
  return JSON.stringify([section, list, comparable]);
}

function entryKey(section: string, name: string): string {
  return JSON.stringify([section, section === 'aliases' ? aliasKey(name) : name]);
}

function addSubjects(
  places: Places,
  file: PatchedFile,
  [section, list]: readonly ['rate_limits' | 'budgets', SubjectList],
): void {
  const seq = nodeIn(file.document, [section, list]);
  if (!isSeq(seq)) return;
  for (const [index, item] of seq.items.entries()) {
    const map = isAlias(item) ? item.resolve(file.document) : item;
    const name = isMap(map) ? map.get(subjectMembers[list]) : undefined;
    if (!isMap(map) || typeof name !== 'string') continue;
    const written = map.get('limits', true);
    const limits = isSeq(written) ? written : undefined;
    const entry: LimitEntry = { section, list, subject: asMeant(name), per_child: false, limit: {} };
    const key = subjectKey(entry);
    const problem = problemOf([seq, map, limits], isAlias(item) ? item : written);
    const subject = { file, list: seq, index, map, limits, isTemplate: map.get('per_child') === true, problem };
    places.subjects.set(key, [...(places.subjects.get(key) ?? []), subject]);
    for (const [at, limit] of (limits?.items ?? []).entries()) {
      if (!isMap(limit)) continue;
      const place = keyOfEntry({ ...entry, limit: limit.toJS(file.document) as LimitEntry['limit'] });
      if (!places.limits.has(place)) places.limits.set(place, { subject, index: at, map: limit });
    }
  }
}

function problemOf(nodes: readonly ({ readonly anchor?: string } | undefined)[], last: unknown): string | undefined {
  const name = nodes.find((node) => node?.anchor !== undefined)?.anchor;
  if (name !== undefined) return `a part of it has a name (&${name}), so it may be used elsewhere`;
  return isAlias(last) ? `a part of it stands for another text (*${last.source})` : undefined;
}

function addEntries(places: Places, file: PatchedFile, section: 'aliases' | 'guardrails'): void {
  const seq = nodeIn(file.document, [section]);
  if (!isSeq(seq)) return;
  for (const map of seq.items) {
    const name = isMap(map) ? map.get(section === 'aliases' ? 'source' : 'name') : undefined;
    if (!isMap(map) || typeof name !== 'string') continue;
    const key = entryKey(section, asMeant(name));
    if (!places.entries.has(key)) places.entries.set(key, { file, map });
  }
}

function nodeIn(document: Document, path: readonly string[]): unknown {
  const found = isMap(document.contents) ? document.getIn(path, true) : undefined;
  return isScalar(found) ? undefined : found;
}
