// Reads where the bytes of Anthropic's images and documents are.
import type { FilePart, ForeignPart, ImagePart, Source, TextPart } from '../../conversation/parts.ts';
import { isObject, type JsonObject, type JsonValue, listOf, textOf } from '../../json/json.ts';
import { optionalText, requiredObject, requiredText } from '../../json/members.ts';
import { InvalidRequest } from '../../translation.ts';
import { marksOf } from '../marks.ts';

const imageMembers = new Set(['type', 'source', 'cache_control']);
const documentMembers = new Set(['type', 'source', 'title', 'cache_control']);
const resultMembers = new Set(['type', 'source', 'title', 'content', 'cache_control']);

/** An image block. `at`: its path. Throws an InvalidRequest. */
export function readImage(block: JsonObject, at: string): ImagePart {
  const source = sourceOf(requiredObject(block, 'source', at), `${at}.source`);
  return { kind: 'image', source, ...marksOf(block, imageMembers, at), place: at };
}

/**
 * A document block; a foreign part when it has images in its own content, which only Anthropic reads. Throws an
 * InvalidRequest.
 */
export function readDocument(block: JsonObject, at: string): FilePart | ForeignPart {
  const said = requiredObject(block, 'source', at);
  const name = optionalText(block, 'title', at);
  const { cacheMark, own } = marksOf(block, documentMembers, at);
  if (said['type'] !== 'content') {
    return { kind: 'file', source: sourceOf(said, `${at}.source`), name, cacheMark, own, place: at };
  }
  const text = plainText(said['content']);
  if (text === undefined) return { kind: 'foreign', dialect: 'messages', name: 'document', value: block, place: at };
  const members = { ...own?.members, source: said };
  const source = { kind: 'text', text } as const;
  return { kind: 'file', source, name, cacheMark, own: { dialect: 'messages', members }, place: at };
}

/** A search result of the caller as a text, which other dialects can write. Throws an InvalidRequest. */
export function readSearchResult(block: JsonObject, at: string): TextPart {
  const { cacheMark } = marksOf(block, resultMembers, at);
  const text = searchResultText(block);
  return { kind: 'text', text, cacheMark, own: { dialect: 'messages', members: { search_result: block } } };
}

/** Title, source and words of a search result. */
export function searchResultText(block: JsonObject): string {
  const head = [textOf(block['title']), textOf(block['source'])].filter((line) => line !== undefined).join('\n');
  return `${head}\n\n${plainText(block['content']) ?? ''}`;
}

/** A text, or the joined texts of a list of nothing else. */
export function plainText(content: JsonValue | undefined): string | undefined {
  if (typeof content === 'string') return content;
  const texts = listOf(content)?.map((block) =>
    isObject(block) && block['type'] === 'text' ? textOf(block['text']) : undefined,
  );
  return texts?.every((text) => text !== undefined) ? texts.join('\n\n') : undefined;
}

function sourceOf(source: JsonObject, at: string): Source {
  const type = requiredText(source, 'type', at);
  switch (type) {
    case 'base64':
      return {
        kind: 'base64',
        mediaType: requiredText(source, 'media_type', at),
        data: requiredText(source, 'data', at),
      };
    case 'url':
      return { kind: 'url', url: requiredText(source, 'url', at) };
    case 'file':
      return { kind: 'id', id: requiredText(source, 'file_id', at) };
    case 'text':
      return { kind: 'text', text: requiredText(source, 'data', at) };
    default:
      throw new InvalidRequest(`${at}.type`, 'must be "base64", "url", "file", "text" or "content"');
  }
}
