// Reads the content blocks of messages: texts, media, tools and thoughts, whose signatures must be the demo model's own.
import type { Part } from '../conversation.ts';
import { type Media, mediaFromBase64, mediaFromId, mediaFromText, mediaFromUrl } from '../media/media.ts';
import { type Body, isList, isObject, optionalText, Refusal } from '../requests.ts';
import { unseal } from '../thoughts.ts';

const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const known =
  "'document', 'image', 'redacted_thinking', 'search_result', 'server_tool_use', 'text', 'thinking', 'tool_result', 'tool_use'";

/** A refusal (400) that begins with the path of what is wrong. */
export function refuse(path: string, message: string): Refusal {
  return new Refusal(400, `${path}: ${message}`);
}

/** The parts of a content: text, or a list of blocks. */
export function readBlocks(content: unknown, path: string): Part[] {
  if (typeof content === 'string') {
    return content === '' && path === 'system' ? [] : [{ kind: 'text', text: content }];
  }
  if (!isList(content)) throw refuse(path, 'Input should be a valid list');
  return content.flatMap((block, index) => {
    if (!isObject(block)) throw refuse(`${path}.${index}`, 'Input should be a valid dictionary');
    return readBlock(block, `${path}.${index}`);
  });
}

function readBlock(block: Body, path: string): Part[] {
  const { type } = block;
  switch (type) {
    case 'text': {
      const text = required(block, 'text', `${path}.text`);
      if (text === '') throw refuse('messages', 'text content blocks must be non-empty');
      return [{ kind: 'text', text }];
    }
    case 'image':
      return [readImage(block['source'], `${path}.image.source`)];
    case 'document':
      return readDocument(block, `${path}.document.source`);
    case 'search_result':
      return readBlocks(block['content'], `${path}.search_result.content`);
    case 'tool_use': {
      if (!isObject(block['input'])) throw refuse(`${path}.tool_use.input`, 'Input should be a valid dictionary');
      const id = required(block, 'id', `${path}.tool_use`);
      return [{ kind: 'call', id, name: required(block, 'name', `${path}.tool_use`) }];
    }
    case 'tool_result': {
      const callId = required(block, 'tool_use_id', `${path}.tool_result`);
      const content = readBlocks(block['content'] ?? [], `${path}.tool_result.content`);
      return [{ kind: 'result', callId, content, isError: block['is_error'] === true }];
    }
    case 'thinking':
    case 'redacted_thinking':
      verifyThoughts(block, path);
      return [];
    default:
      // Blocks of the provider's tools hold no text of the conversation.
      if (/^server_tool_use$|_tool_result$|^container_upload$/.test(String(type))) return [];
      throw refuse(
        path,
        `Input tag '${String(type)}' found using 'type' does not match any of the expected tags: ${known}`,
      );
  }
}

function required(block: Body, name: string, path: string): string {
  const value = block[name];
  if (typeof value === 'string') return value;
  throw refuse(`${path}.${name}`, value === undefined ? 'Field required' : 'Input should be a valid string');
}

function readImage(source: unknown, path: string): Media {
  if (!isObject(source)) throw refuse(path, 'Field required');
  if (source['type'] === 'base64' && !imageTypes.includes(String(source['media_type']))) {
    throw refuse(`${path}.base64.media_type`, `Input should be ${imageTypes.map((name) => `'${name}'`).join(', ')}`);
  }
  const media = readSource('image', source);
  if (media) return media;
  throw refuse(`${path}.${String(source['type'])}`, 'invalid base64 data or URL');
}

function readDocument(block: Body, path: string): Part[] {
  const { source } = block;
  if (!isObject(source)) throw refuse(path, 'Field required');
  if (source['type'] === 'content') return readBlocks(source['content'], `${path}.content`);
  const media = readSource('document', source, optionalText(block['title']));
  if (media) return [media];
  throw refuse(`${path}.${String(source['type'])}`, 'invalid base64 data or URL');
}

function readSource(noun: 'image' | 'document', source: Body, name?: string): Media | undefined {
  const { type, media_type: mediaType, data, url, file_id: id } = source;
  if (type === 'base64' && typeof data === 'string') return mediaFromBase64(noun, String(mediaType), data, name);
  if (type === 'text' && typeof data === 'string') return mediaFromText(data, name);
  if (type === 'url' && typeof url === 'string' && /^https?:/.test(url)) return mediaFromUrl(noun, url, name);
  return type === 'file' && typeof id === 'string' ? mediaFromId(noun, id) : undefined;
}

/** A signature holds the thought, so that a changed one shows, and an omitted one is none. */
function verifyThoughts({ type, thinking, signature }: Body, path: string): void {
  if (type === 'redacted_thinking') throw refuse(path, 'Invalid `data` in `redacted_thinking` block');
  const thought = typeof signature === 'string' ? unseal(signature, 'messages') : undefined;
  if (thought === undefined) throw refuse(path, 'Invalid `signature` in `thinking` block');
  if (thinking !== '' && thinking !== thought) {
    throw refuse(
      path,
      '`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
    );
  }
}
