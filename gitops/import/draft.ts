// What a translation makes: a configuration, notes about what could not be taken over, and the variables it needs.
import type { ProviderType } from '../../schemas/provider-addresses.ts';
import type { Problem } from '../read/problem.ts';
import { nameOf, type Piece, type Source } from './source.ts';

/** A model of a provider, with prices in US dollars per million tokens. */
interface DraftModel {
  readonly id: string;
  pricing?: Record<string, unknown>;
}

/** What tells one provider from another; values as the configuration has them. */
export interface ProviderTraits {
  readonly type: ProviderType;
  readonly base_url?: string | undefined;
  readonly api_key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly unsupported?: 'drop' | undefined;
  readonly circuit_breaker?: false | undefined;
  readonly allow_private?: true | undefined;
  readonly timeouts?: Readonly<Record<string, string>> | undefined;
}

export interface DraftProvider {
  readonly name: string;
  readonly traits: ProviderTraits;
  /** By id; empty together with `patterns`: all that the provider lists. */
  readonly models: Map<string, DraftModel>;
  /** Patterns of the models that the provider is asked for; `*` is all. */
  readonly patterns: Set<string>;
  /** Besides chat and embeddings. */
  readonly dialects: Set<string>;
}

export interface DraftAlias {
  readonly source: string;
  readonly targets: { readonly model: string; readonly weight?: number }[];
  strategy?: string | undefined;
  retry?: { attempts?: number; on?: string[] } | undefined;
}

export interface DraftLimit {
  readonly period: string;
  max_requests?: number;
  max_tokens?: number;
}

export interface Draft {
  readonly providers: DraftProvider[];
  readonly aliases: DraftAlias[];
  /** By selector in lower case. */
  readonly modelLimits: Map<string, { readonly model: string; readonly limits: DraftLimit[] }>;
  /** By user path. */
  readonly pathLimits: Map<string, DraftLimit[]>;
  readonly budgets: Map<string, { period?: string; period_seconds?: number; amount: number }[]>;
  readonly guardrails: Record<string, unknown>[];
  cache?: Record<string, unknown>;
  server?: Record<string, unknown>;
  readonly notes: Note[];
  readonly variables: Map<string, Variable>;
}

/** `lost`: nothing here does it. `decide`: it was taken over, and someone has to look at it. */
type NoteKind = 'lost' | 'decide';

export interface Note {
  readonly kind: NoteKind;
  /** The part of the draft that the comment stands above; absent: the whole file. */
  readonly about: object | undefined;
  /** `config.yaml:12` */
  readonly where: string;
  /** The member, such as `router_settings.cooldown_time`; empty where there is no source. */
  readonly what: string;
  readonly text: string;
}

/** A variable that the configuration refers to. */
interface Variable {
  /** Where the source has what it must hold. */
  readonly where: string;
  /** Whether the source has the secret itself there. */
  readonly isWrittenOut: boolean;
}

/** A draft, or the problems that make the source unusable. */
export type Translation = { readonly draft: Draft; readonly problems: readonly Problem[] };

export function emptyDraft(): Draft {
  return {
    providers: [],
    aliases: [],
    modelLimits: new Map(),
    pathLimits: new Map(),
    budgets: new Map(),
    guardrails: [],
    notes: [],
    variables: new Map(),
  };
}

/** What translators write to and read from. */
export interface Work {
  readonly source: Source;
  readonly draft: Draft;
}

/** Notes something about a piece of the source. `about`: the part of the draft that it concerns. */
export function note(
  { source, draft }: Work,
  kind: NoteKind,
  piece: Piece,
  { about, text }: { readonly about?: object | undefined; readonly text: string },
): void {
  draft.notes.push({ kind, about, where: source.where(piece), what: nameOf(piece), text });
}

/** The sentence about a member that nothing is known to replace. */
export const noCounterpart = 'has no counterpart';

/** A text of the source for the configuration, where `$` would begin a variable. */
export function literal(text: string): string {
  return text.replaceAll('$', '$$$$');
}
