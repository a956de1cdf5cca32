// Endpoints of providers besides answers of models in text: speech, transcripts, images, moderation, ranking. Clients use the format
// of OpenAI there, or for ranking that of Cohere, and the words are passed on as they are.
import { type Base, speechPath } from './paths.ts';
import { type KeyStyle, type MediaOperation, mediaPaths, type Row } from './row.ts';

/** The media endpoints of a provider. */
type Media = NonNullable<Row['media']>;

/** The operations by the names that the configuration declares. */
const declarable = {
  audio: ['speech', 'transcriptions', 'translations'],
  images: ['image_generations', 'image_edits', 'image_variations'],
  moderations: ['moderations'],
  rerank: ['rerank'],
} as const satisfies Record<string, readonly MediaOperation[]>;

export type MediaDialect = keyof typeof declarable;

/** Whether a dialect of the config is one of these. */
export function isMedia(name: string): name is MediaDialect {
  return Object.hasOwn(declarable, name);
}

/** Asked at the usual paths. */
export function mediaAt(...operations: readonly MediaOperation[]): Media {
  return Object.fromEntries(operations.map((name) => [name, { path: mediaPaths[name] }]));
}

/** The declared endpoints, at the paths of the row, else at the usual paths. */
export function declaredMedia({ media = {} }: Pick<Row, 'media'>, declared: readonly MediaDialect[]): Media {
  const names = declared.flatMap((name): readonly MediaOperation[] => declarable[name]);
  return Object.fromEntries(names.map((name) => [name, media[name] ?? { path: mediaPaths[name] }]));
}

/** Where a model is asked. */
export interface MediaPlace {
  /** From the host on, the query included. */
  readonly path: string;
  readonly keyStyle: KeyStyle;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

/** Gives where a provider is asked; undefined: it has nothing like it. */
export function mediaOf({ media = {}, keyStyle, headers: usual = [] }: Row, base: Base) {
  return (operation: MediaOperation, model: string): MediaPlace | undefined => {
    const speech = media[operation];
    if (speech === undefined) return undefined;
    const headers = [...usual, ...(speech.headers ?? [])];
    return { path: speechPath(speech, base, model, false), keyStyle: speech.keyStyle ?? keyStyle, headers };
  };
}
