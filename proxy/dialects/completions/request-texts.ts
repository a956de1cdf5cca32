// The texts of a request for a text completion, and of one for embeddings: what the user says, and no system prompt.
import { cap, type EditableObject, editableList, largest, TextList } from '../editing.ts';
import type { RequestTexts } from '../texts.ts';

const lengths = ['max_tokens'];

export function requestTexts(body: EditableObject): RequestTexts {
  return textsUnder(body, ['prompt', 'suffix'], lengths);
}

export function embeddingTexts(body: EditableObject): RequestTexts {
  return textsUnder(body, ['input', 'messages'], []);
}

function textsUnder(body: EditableObject, keys: readonly string[], capped: readonly string[]): RequestTexts {
  return {
    get texts() {
      const list = new TextList();
      for (const key of keys) {
        list.words(body, key, { role: 'user' });
        for (const part of editableList(body[key])) list.others(part, { role: 'user' });
      }
      return list.texts;
    },
    tools: [],
    // What cannot be long needs no cap.
    maxTokens: capped.length === 0 ? 0 : largest(body, capped),
    capTokens: (most) => cap(body, capped, most),
    say: () => false,
  };
}
