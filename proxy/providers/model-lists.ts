// What a provider says of its models → their ids, in each format of such a list. Pure.
import { readModels as readOpenAi } from '../dialects/chat/read/read-models.ts';
import type { ModelListFormat } from './row.ts';

/** The ids in their order, whatever they are; undefined when the text is no such list. */
type ListReader = (text: string) => readonly unknown[] | undefined;

/** Anthropic's list is written as OpenAI's: `{"data": [{"id": …}]}`. */
export const modelLists: Readonly<Record<ModelListFormat, ListReader>> = {
  openai: readOpenAi,
  anthropic: readOpenAi,
  gemini: (text) => readNames(text, 'supportedGenerationMethods', ['generateContent', 'embedContent'], withoutPrefix),
  cohere: (text) => readNames(text, 'endpoints', ['chat', 'embed'], (name) => name),
};

/** `{"models": [{"name": …}]}`: the names of models that can do one of `wanted`. An entry that does not say what it can is kept. */
function readNames(
  text: string,
  member: string,
  wanted: readonly unknown[],
  idOf: (name: unknown) => unknown,
): readonly unknown[] | undefined {
  const models = modelsIn(text);
  if (models === undefined) return undefined;
  const usable = models.filter((model) => {
    const abilities = model?.[member];
    return !Array.isArray(abilities) || abilities.some((ability) => wanted.includes(ability));
  });
  return usable.map((model) => idOf(model?.['name']));
}

function modelsIn(text: string): (Record<string, unknown> | null | undefined)[] | undefined {
  try {
    const said = JSON.parse(text) as { models?: unknown } | null;
    return Array.isArray(said?.models) ? said.models : undefined;
  } catch {
    return undefined;
  }
}

/** Requests name a model without the `models/` that lists have (ai.google.dev/api/models). */
function withoutPrefix(name: unknown): unknown {
  return typeof name === 'string' ? name.replace(/^models\//, '') : name;
}
