// Reads the model ids in a provider's list of models, in each format of such a list. Pure.
import { listEntries } from '../dialects/json/list-entries.ts';
import type { Slices } from '../pacing/slices.ts';
import type { ModelListFormat } from './row.ts';

/** The ids in their order, whatever they are; undefined when the text is no such list. Throws what `listEntries` throws. */
type ListReader = (text: Buffer) => Slices<readonly unknown[] | undefined>;

/** Anthropic's list is written as OpenAI's: `{"data": [{"id": …}]}`. */
export const modelLists: Readonly<Record<ModelListFormat, ListReader>> = {
  openai: readOpenAi,
  anthropic: readOpenAi,
  gemini: (text) => readNames(text, 'supportedGenerationMethods', ['generateContent', 'embedContent'], withoutPrefix),
  cohere: (text) => readNames(text, 'endpoints', ['chat', 'embed'], (name) => name),
};

const unusable = Symbol('unusable');

/** `{"models": [{"name": …}]}`: the names of models that can do one of `wanted`. An entry that does not say what it can is kept. */
function* readNames(
  text: Buffer,
  member: string,
  wanted: readonly unknown[],
  idOf: (name: unknown) => unknown,
): Slices<readonly unknown[] | undefined> {
  const names = yield* listEntries(text, 'models', (entry) => {
    const model = entry as Record<string, unknown> | null | undefined;
    const abilities = model?.[member];
    const isUsable = !Array.isArray(abilities) || abilities.some((ability) => wanted.includes(ability));
    return isUsable ? idOf(model?.['name']) : unusable;
  });
  return names?.filter((name) => name !== unusable);
}

/** Requests name a model without the `models/` that lists have (ai.google.dev/api/models). */
function withoutPrefix(name: unknown): unknown {
  return typeof name === 'string' ? name.replace(/^models\//, '') : name;
}

/** In steps: the ids in their order, whatever they are; undefined when the text is no such list. Throws what `listEntries` throws. */
function readOpenAi(text: Buffer): Generator<undefined, readonly unknown[] | undefined, undefined> {
  return listEntries(text, 'data', (entry) => (entry as { id?: unknown } | null | undefined)?.id);
}
