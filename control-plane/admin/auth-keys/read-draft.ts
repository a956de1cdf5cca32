// Reads the bodies of writes to managed keys: normalises them and checks what the schemas cannot express.

import type { Role } from '../../../domain/keys/role.ts';
import type { KnownModels } from '../../../domain/rules/known-models.ts';
import { foldCase, isQualified, parseSelector } from '../../../domain/selector.ts';
import { normaliseUserPath } from '../../../domain/user-path.ts';
import { withoutKeys } from '../../../schemas/formats/key-shapes.ts';
import type { AuthKeyDashboardAccess, AuthKeyWrite } from '../../../schemas/types.ts';
import { bodies } from '../../../schemas/validation/generated/bodies.js';
import { closest } from '../../../schemas/validation/suggest.ts';
import { Refusal } from '../../errors.ts';
import { jsonWording } from '../../managed/json-wording.ts';
import { createBodyReader, invalid, readExpiry, readWords } from '../../managed/read-body.ts';

/** A new key as an operator requests it. */
export interface KeyDraft {
  readonly name: string;
  readonly description: string | undefined;
  readonly userPath: string | undefined;
  readonly anyUserPath: boolean;
  readonly labels: readonly string[];
  readonly allowedModels: readonly string[];
  /** Undefined: no access to the admin API. */
  readonly role: Role | undefined;
  /** Unix milliseconds; Infinity: never. */
  readonly expiresAtMs: number;
}

const readWriteBody = createBodyReader(bodies.authKeyWrite);
const readBatchBody = createBodyReader(bodies.authKeyBatch);
const readChangeBody = createBodyReader(bodies.authKeyChange);
const readLabels = createBodyReader(bodies.authKeyLabels);
const readAllowedModels = createBodyReader(bodies.authKeyAllowedModels);
const readRotate = createBodyReader(bodies.authKeyRotate);
const readDashboardAccess = createBodyReader(bodies.authKeyDashboardAccess);
const invisible = /[\p{C}\p{Zl}\p{Zp}]/u;

/** The body of a POST. Throws 400 naming the member at fault. */
export function readDraft(body: unknown, known: KnownModels, nowMs: number): KeyDraft {
  return draftOf(readWriteBody(body), known, nowMs);
}

/** The body of a POST of several keys. Throws 400 naming the entry and its member at fault. */
export function readDrafts(body: unknown, known: KnownModels, nowMs: number): readonly KeyDraft[] {
  const { keys } = readBatchBody(body);
  return keys.map((given, index) => atEntry(index, () => draftOf(given, known, nowMs)));
}

/** The result of `make` for an entry of `keys`; a refusal that it throws names the entry. */
export function atEntry<Made>(index: number, make: () => Made): Made {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { status, type, code, param, message } = error;
    const place = `keys[${index}]`;
    const entry = { status, type, message: `${place}: ${message}` };
    throw new Refusal(entry, code, { param: param === undefined ? place : `${place}.${param}` });
  }
}

function draftOf(given: AuthKeyWrite, known: KnownModels, nowMs: number): KeyDraft {
  const userPath = readUserPath(given.user_path);
  const anyUserPath = given.any_user_path;
  if (anyUserPath && userPath !== undefined) {
    throw invalid(
      'any_user_path',
      'cannot be true together with user_path, because the path of a key always wins over the header; send one of them',
    );
  }
  return {
    name: readName(given.name),
    description: readWords(given.description?.trim()),
    userPath,
    anyUserPath,
    labels: distinct('labels', given.labels ?? []),
    allowedModels: modelsOf(given.allowed_models ?? [], known),
    role: roleOf(given, 'admin'),
    expiresAtMs: readExpiry(given, nowMs) ?? Number.POSITIVE_INFINITY,
  };
}

/** The changes of a PATCH; absent members stay. A member that is present and undefined is removed. */
export type KeyChange = Partial<
  Pick<KeyDraft, 'name' | 'description' | 'userPath' | 'labels' | 'allowedModels' | 'expiresAtMs'>
>;

/** The body of a PATCH. Throws 400 naming the member at fault. */
export function readChange(body: unknown, known: KnownModels, nowMs: number): KeyChange {
  const given = readChangeBody(body);
  const { name, description, user_path: userPath, labels, allowed_models: models } = given;
  const isEndGiven = given.expires_at !== undefined || given.expires_in !== undefined;
  return {
    ...(name === undefined ? {} : { name: readName(name) }),
    ...(description === undefined ? {} : { description: readWords(description?.trim()) }),
    ...(userPath === undefined ? {} : { userPath: readUserPath(userPath ?? undefined) }),
    ...(labels === undefined ? {} : { labels: distinct('labels', labels) }),
    ...(models === undefined ? {} : { allowedModels: modelsOf(models ?? [], known) }),
    ...(isEndGiven ? { expiresAtMs: readExpiry(given, nowMs) ?? Number.POSITIVE_INFINITY } : {}),
  };
}

/** The body of a rotation: until when the old key works. Unix milliseconds. */
export function readRotation(body: unknown, nowMs: number): number {
  const { overlap } = readRotate(body);
  return overlap === undefined ? nowMs : (readExpiry({ expires_in: overlap }, nowMs) ?? nowMs);
}

/** The body of a PUT of labels: the complete list. */
export function readLabelsBody(body: unknown): readonly string[] {
  return distinct('labels', readLabels(body).labels);
}

/** The body of a PUT of allowed models: the complete list; an empty list removes the restriction. */
export function readAllowedModelsBody(body: unknown, known: KnownModels): readonly string[] {
  return modelsOf(readAllowedModels(body).allowed_models, known);
}

/** The body of a PUT of dashboard access. Null: with the role that the key has, or as admin. */
export function readDashboardAccessBody(body: unknown): Role | null | undefined {
  return roleOf(readDashboardAccess(body), null);
}

/** `unsaid`: of a body with access and without a role. Throws 400 for a role without access. */
function roleOf<Unsaid>(given: AuthKeyDashboardAccess, unsaid: Unsaid): Role | Unsaid | undefined {
  const { dashboard_access: hasAccess, role } = given;
  if (role !== undefined && !hasAccess)
    throw invalid('role', 'goes with "dashboard_access": true alone; send that, or leave the role out');
  return hasAccess ? (role ?? unsaid) : undefined;
}

function readUserPath(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const { path, problem } = normaliseUserPath(text);
  if (problem !== undefined) throw invalid('user_path', problem);
  return path;
}

function modelsOf(given: readonly string[], known: KnownModels): readonly string[] {
  const entries = distinct('allowed_models', given);
  for (const entry of entries) checkEntry(entry, known);
  return entries;
}

/**
 * Checks that the provider of an entry exists, because a misspelled one would grant nothing. Models of a provider are not checked: they
 * change with the config. A bare id with a slash must be listed, because it looks like a misspelled provider; when some provider is asked
 * for its models, it need only look unlike the name of any provider.
 */
function checkEntry(entry: string, { providers, discovering, models, aliases }: KnownModels): void {
  if (entry === '*' || aliases.has(foldCase(entry))) return;
  const selector = parseSelector(entry);
  if (selector === undefined || (entry.includes('*') && selector.model !== '*')) {
    throw invalid(
      'allowed_models',
      `has ${JSON.stringify(entry)}; write "*", "provider/*", "provider/model" or a name`,
    );
  }
  const { provider } = selector;
  if (provider === undefined || isQualified(entry, providers) || models.has(foldCase(entry))) return;
  // A name of a family.
  if (aliases.has(foldCase(`${provider}/*`))) return;
  const guess = closest(provider, providers);
  // It may be a bare id that a provider says it has.
  if (guess === undefined && discovering.size > 0 && selector.model !== '*') return;
  throw invalid(
    'allowed_models',
    `has ${JSON.stringify(entry)}, but there is no provider ${JSON.stringify(provider)}${guess === undefined ? '' : jsonWording.guess(guess)}`,
  );
}

/** Trimmed texts without repetition. */
function distinct(name: string, texts: readonly string[]): readonly string[] {
  return [...new Set(texts.map((text) => visible(name, text.trim())))];
}

function readName(given: string): string {
  return withoutKeys(visible('name', given.trim()));
}

function visible(name: string, text: string): string {
  if (invisible.test(text)) throw invalid(name, 'has an invisible character; remove it');
  return text;
}
