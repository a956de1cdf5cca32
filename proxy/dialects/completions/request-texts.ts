// The texts of a request for a text completion, and of those that have no conversation: what the user says, and no system prompt.
import { cap, type EditableObject, largest, RequestedList } from '../editing.ts';
import { type JsonValue, listOf, numberOf } from '../json/json.ts';
import { settingsOfRequest } from '../request-settings.ts';
import type { RequestTexts } from '../texts.ts';

const lengths = ['max_tokens'];

/** The texts and the cap (in tokens) of a text completion, to be read and changed in `body`. */
export function requestTexts(body: EditableObject): RequestTexts {
  return textsIn(body, lengths);
}

/** The texts of embeddings, moderations, ranking, speech and images; they have no cap. */
export function inputTexts(body: EditableObject): RequestTexts {
  return textsIn(body, []);
}

const words = ['prompt', 'suffix', 'input', 'query', 'documents'];

function textsIn(body: EditableObject, capped: readonly string[]): RequestTexts {
  return {
    get texts() {
      const list = new RequestedList();
      for (const key of words) list.words(body, key, { role: 'user' });
      list.rest(body, { role: 'user' }, settingsOfRequest);
      return list.texts;
    },
    tools: [],
    // A body without these members needs no cap.
    maxTokens: capped.length === 0 ? 0 : largest(body, capped),
    capTokens: (most) => cap(body, capped, most),
    say: () => false,
  };
}

/** Whether it says something in numbers of tokens, which a model reads as words. */
export function saysTokens(body: EditableObject): boolean {
  return ['prompt', 'input'].some((key) => hasNumbers(body[key]));
}

function hasNumbers(value: JsonValue | undefined): boolean {
  const entries = listOf(value) ?? [];
  return entries.some(
    (entry) => numberOf(entry) !== undefined || listOf(entry)?.some((each) => numberOf(each) !== undefined),
  );
}
