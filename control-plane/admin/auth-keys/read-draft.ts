// The bodies of writes to managed keys, checked member by member: exact types, nothing unknown, and what a key may say of itself.

import type { KnownModels } from '../../../schemas/rules/known-models.ts';
import { foldCase, isQualified, parseSelector } from '../../../schemas/selector.ts';
import { normaliseUserPath } from '../../../schemas/user-path.ts';
import { didYouMean } from '../../../schemas/validation/suggest.ts';
import { charactersIn, invalid, type Members, readBody, readExpiry, readFlag, readText } from '../read-members.ts';

/** What an operator says of a new key. */
export interface KeyDraft {
  readonly name: string;
  readonly description: string | undefined;
  readonly userPath: string | undefined;
  readonly anyUserPath: boolean;
  readonly labels: readonly string[];
  readonly allowedModels: readonly string[];
  readonly dashboardAccess: boolean;
  /** Unix milliseconds; Infinity: never. */
  readonly expiresAtMs: number;
}

const members = [
  'name',
  'description',
  'user_path',
  'any_user_path',
  'labels',
  'allowed_models',
  'dashboard_access',
  'expires_at',
];
const longestName = 200;
const longestDescription = 1000;
const longestLabel = 100;
const mostLabels = 50;
/** As long as a selector in the config may be. */
const longestEntry = 320;
const mostEntries = 1000;
const invisible = /[\p{C}\p{Zl}\p{Zp}]/u;

/** The body of a POST. Throws 400 naming the member at fault. */
export function readDraft(body: unknown, known: KnownModels, nowMs: number): KeyDraft {
  const given = readBody(body, members);
  const userPath = readUserPath(given);
  const anyUserPath = readFlag(given, 'any_user_path');
  if (anyUserPath && userPath !== undefined) {
    throw invalid('any_user_path', 'does not go with user_path: the path of a key always wins over the header');
  }
  return {
    name: readName(given),
    description: readDescription(given),
    userPath,
    anyUserPath,
    labels: readLabels(given) ?? [],
    allowedModels: readAllowedModels(given, known) ?? [],
    dashboardAccess: readFlag(given, 'dashboard_access'),
    expiresAtMs: readExpiry(given, nowMs) ?? Number.POSITIVE_INFINITY,
  };
}

/** The body of a PUT of labels: the whole list. */
export function readLabelsBody(body: unknown): readonly string[] {
  return present('labels', readLabels(readBody(body, ['labels'])));
}

/** The body of a PUT of allowed models: the whole list; an empty one lifts the restriction. */
export function readAllowedModelsBody(body: unknown, known: KnownModels): readonly string[] {
  return present('allowed_models', readAllowedModels(readBody(body, ['allowed_models']), known));
}

/** The body of a PUT of dashboard access. */
export function readDashboardAccessBody(body: unknown): boolean {
  const given = readBody(body, ['dashboard_access']);
  present('dashboard_access', given['dashboard_access']);
  return readFlag(given, 'dashboard_access');
}

function present<Value>(name: string, value: Value | undefined): Value {
  if (value === undefined) throw invalid(name, 'is missing');
  return value;
}

function readName(given: Members): string {
  const name = bounded('name', present('name', readText(given, 'name')), longestName).trim();
  if (name === '') throw invalid('name', 'must not be blank');
  return visible('name', name);
}

function readDescription(given: Members): string | undefined {
  const text = bounded('description', readText(given, 'description') ?? '', longestDescription).trim();
  return text === '' ? undefined : text;
}

/** A blank path could mean no path or the root, which differ: neither is guessed. */
function readUserPath(given: Members): string | undefined {
  const text = readText(given, 'user_path');
  if (text === undefined) return undefined;
  if (text.trim() === '') throw invalid('user_path', 'is blank; write "/" for the root, or leave it out');
  const { path, problem } = normaliseUserPath(text);
  if (problem !== undefined) throw invalid('user_path', problem);
  return path;
}

function readLabels(given: Members): readonly string[] | undefined {
  return readList(given, 'labels', mostLabels, longestLabel);
}

function readAllowedModels(given: Members, known: KnownModels): readonly string[] | undefined {
  const entries = readList(given, 'allowed_models', mostEntries, longestEntry);
  for (const entry of entries ?? []) checkEntry(entry, known);
  return entries;
}

/**
 * Whoever misspells a provider would grant nothing, and wonder. Models of a provider are not checked: they come and go with the config;
 * a bare id with a slash is, because only being listed tells it from a misspelt provider.
 */
function checkEntry(entry: string, { providers, models, aliases }: KnownModels): void {
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
  throw invalid(
    'allowed_models',
    `has ${JSON.stringify(entry)}, but there is no provider ${JSON.stringify(provider)}${didYouMean(provider, providers)}`,
  );
}

/** Trimmed texts without repetition; undefined when the member is not there. */
function readList(given: Members, name: string, most: number, longest: number): readonly string[] | undefined {
  const value = given[name];
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw invalid(name, 'must be a list of strings');
  if (value.length > most) throw invalid(name, `has more than ${most} entries`);
  const texts = value.map((each: unknown) => {
    if (typeof each !== 'string') throw invalid(name, 'must be a list of strings');
    const text = bounded(name, each, longest).trim();
    if (text === '') throw invalid(name, 'has a blank entry');
    return visible(name, text);
  });
  return [...new Set(texts)];
}

/** As the schema measures: before anything is trimmed. */
function bounded(name: string, text: string, longest: number): string {
  if (charactersIn(text) > longest) throw invalid(name, `is longer than ${longest} characters`);
  return text;
}

function visible(name: string, text: string): string {
  if (invisible.test(text)) throw invalid(name, 'has a character that cannot be seen');
  return text;
}
