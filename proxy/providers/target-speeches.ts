// How a target is asked for each operation: in the client's own dialect where its provider speaks it, else in one that is translated.
import type { Operation } from '../dialects/dialect.ts';
import { Opening } from '../dialects/opening.ts';
import type { Quirks } from '../dialects/quirks.ts';
import type { ProviderDialect } from '../dialects/translation.ts';
import { providerDialects, type Relayed, relayedOf } from './dialects.ts';
import { speechPath } from './paths.ts';
import type { Speaker } from './provider-error.ts';
import type { KeyStyle, Row, Speakable, Speech } from './row.ts';

/** One way to ask a target. */
export interface TargetSpeech {
  readonly format: Speakable;
  /** From the host on, the query included. */
  readonly path: string;
  readonly streamPath: string;
  /** Headers of every such request, names and values in turn. */
  readonly headers: readonly string[];
  /** Headers that say which version is spoken; the client's own go before these. In lower case. */
  readonly versions: readonly string[];
  /** Undefined: the headers of a key are those of its provider. */
  readonly keyStyle: KeyStyle | undefined;
  readonly quirks: Quirks;
  /** The usage of a stream is asked for by `stream_options`. */
  readonly takesStreamOptions: boolean;
  readonly relayed: Relayed;
  /** The provider, as far as its errors are concerned. */
  readonly speaker: Speaker;
  /** Undefined: the client's own dialect is spoken, and bytes are relayed. */
  readonly translation: ProviderDialect | undefined;
}

/** Reads what the first events of such an answer say; undefined: it is never a stream. */
export function openingAt({ relayed: bytes, translation }: TargetSpeech): Opening | undefined {
  if (translation !== undefined) return new Opening(translation);
  const reader = bytes.eventReader?.();
  return reader && new Opening({ eventReader: () => reader, readError: bytes.readError }, true);
}

/** By operation; a missing one is not available. */
export type Speeches = Readonly<Partial<Record<Operation, TargetSpeech>>>;

/** The provider of targets. */
export interface SpokenProvider {
  readonly name: string;
  readonly row: Row;
  readonly basePath: string;
  /** With its `?`; empty: none. */
  readonly query: string;
  readonly takesStreamOptions: boolean;
  /** The secrets that no error may contain, longest first. */
  readonly secrets: readonly string[];
  readonly clientAuth: Speaker['clientAuth'];
}

/** Formats that a client's words can be translated to and from. */
const translated = ['chat', 'chat_of_input', 'completions', 'responses', 'messages'] as const;
/** The format in which nothing of a call is lost, where it is not the one of its own name. */
const closest: Readonly<Partial<Record<Operation, Speakable>>> = { chat_of_input: 'responses' };
const askUsage: ReadonlySet<Speakable> = new Set(['chat', 'completions']);
const versionHeaders: readonly string[] = Object.freeze(['anthropic-version', 'anthropic-beta']);
const noHeaders: readonly string[] = Object.freeze([]);
const versioned: ReadonlySet<Speakable> = new Set(['messages', 'count_tokens']);

/** Gives the speeches of a model of the provider; models for which they are the same share them. */
export function speechesAt(place: SpokenProvider): (model: string) => Speeches {
  const spoken = Object.entries(place.row.speeches) as [Speakable, Speech][];
  const isSame = spoken.every(([, { path, streamPath = '', models }]) => {
    return models === undefined && !`${path}${streamPath}`.includes('{model}');
  });
  const shared = isSame ? speechesOf(spoken, place, '') : undefined;
  return (model) => shared ?? speechesOf(spoken, place, model);
}

type Spoken = readonly (readonly [Speakable, Speech])[];

function speechesOf(spoken: Spoken, place: SpokenProvider, model: string): Speeches {
  const usable = spoken.filter(([, { models }]) => models?.some((prefix) => model.startsWith(prefix)) ?? true);
  const speeches: Partial<Record<Operation | Speakable, TargetSpeech>> = {};
  for (const speech of usable) {
    const [name, { quirks }] = speech;
    if (takesBytes(quirks)) speeches[name] = targetSpeech(speech, place, model, undefined);
  }
  for (const operation of translated) {
    const other = translatedTo(usable, closest[operation]);
    if (other !== undefined) speeches[operation] ??= targetSpeech(other, place, model, providerDialects[other[0]]);
  }
  return Object.freeze(speeches);
}

/** The format to translate to: the best one where it is spoken, else the first. */
function translatedTo(usable: Spoken, best: Speakable | undefined): Spoken[number] | undefined {
  const known = usable.filter(([name]) => providerDialects[name] !== undefined);
  return known.find(([name]) => name === best) ?? known[0];
}

/** The client's bytes can be sent as they are but for the model's name. */
function takesBytes(quirks: Quirks = {}): boolean {
  return quirks.isModelInPath !== true && quirks.adds === undefined;
}

function targetSpeech(
  [format, speech]: readonly [Speakable, Speech],
  place: SpokenProvider,
  model: string,
  translation: ProviderDialect | undefined,
): TargetSpeech {
  const { quirks = {}, headers = [], keyStyle } = speech;
  const { readError } = translation ?? relayedOf(format);
  const knowsOptions = quirks.without?.includes('stream_options') !== true;
  return Object.freeze({
    format,
    path: speechPath(speech, place, model, false),
    streamPath: speechPath(speech, place, model, true),
    headers: Object.freeze([...(place.row.headers ?? []), ...headers]),
    versions: translation === undefined && versioned.has(format) ? versionHeaders : noHeaders,
    keyStyle,
    quirks: place.takesStreamOptions ? quirks : withoutStreamOptions(quirks),
    takesStreamOptions: place.takesStreamOptions && knowsOptions && askUsage.has(format),
    relayed: relayedOf(format),
    speaker: Object.freeze({ name: place.name, secrets: place.secrets, clientAuth: place.clientAuth, readError }),
    translation,
  });
}

function withoutStreamOptions(quirks: Quirks): Quirks {
  return { ...quirks, without: [...(quirks.without ?? []), 'stream_options'] };
}
