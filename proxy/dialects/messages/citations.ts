// The places a text of Anthropic refers to: of documents, of results of a search, of the web.
import type { Citation } from '../conversation/parts.ts';
import { type JsonObject, textOf } from '../json/json.ts';

/** Reads a citation; keeps all its members for writing it again. */
export function readCitation(said: JsonObject): Citation {
  return {
    url: textOf(said['url']),
    title: textOf(said['title']) ?? textOf(said['document_title']),
    citedText: textOf(said['cited_text']),
    own: { dialect: 'messages', members: said },
  };
}

/**
 * The citation of a web address; undefined for any other place: Anthropic's own count within documents that are not
 * known here.
 */
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

/** Whether Anthropic accepts the citation back: one made by the gateway has no proof. */
export function isProvable({ own }: Citation): boolean {
  return own?.dialect === 'messages' && own.members['encrypted_index'] !== '';
}
