// The places a text of Anthropic refers to: of documents, of results of a search, of the web.
import type { Citation } from '../conversation/parts.ts';
import { type JsonObject, textOf } from '../json/json.ts';

/** Keeps all of it for writing it again. */
export function readCitation(said: JsonObject): Citation {
  return {
    url: textOf(said['url']),
    title: textOf(said['title']) ?? textOf(said['document_title']),
    citedText: textOf(said['cited_text']),
    own: { dialect: 'messages', members: said },
  };
}

/** Undefined for a place that is no address: Anthropic's own ones count within documents, which are not known here. */
export function writeCitation({ url, title, citedText, own }: Citation): JsonObject | undefined {
  if (own?.dialect === 'messages') return own.members;
  if (url === undefined) return undefined;
  return {
    type: 'web_search_result_location',
    url,
    title: title ?? null,
    cited_text: citedText ?? '',
    encrypted_index: '',
  };
}

/** Whether Anthropic takes it back: one that was made here has no proof. */
export function isProvable({ own }: Citation): boolean {
  return own?.dialect === 'messages' && own.members['encrypted_index'] !== '';
}
