// Reads the blocks of a message that a client sends.
import { OpenCalls, toldResult } from '../../conversation/open-calls.ts';
import type {
  ForeignPart,
  Part,
  ReasoningPart,
  Signature,
  TextPart,
  ToolResultPart,
} from '../../conversation/parts.ts';
import { unpackSignature } from '../../foreign-signature.ts';
import { type JsonObject, type JsonValue, writeJson } from '../../json/json.ts';
import {
  objectsIn,
  optionalFlag,
  optionalList,
  optionalObject,
  optionalText,
  requiredText,
} from '../../json/members.ts';
import { InvalidRequest } from '../../translation.ts';
import { readCitation } from '../citations.ts';
import { marksOf } from '../marks.ts';
import { readTold } from '../told-blocks.ts';
import { readDocument, readImage, readSearchResult } from './read-sources.ts';

const textMembers = new Set(['type', 'text', 'citations', 'cache_control']);
const callMembers = new Set(['type', 'id', 'name', 'input', 'cache_control']);
const resultMembers = new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control']);

/** The tools that were called so far. */
export class CalledTools {
  /** By the id of the call. */
  readonly names = new Map<string, string>();
  readonly open = new OpenCalls();
}

/** The parts of a message's content: a text, or a list of blocks. Throws an InvalidRequest. */
export function readContent(content: JsonValue | undefined, at: string, called: CalledTools): readonly Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  if (!Array.isArray(content)) throw new InvalidRequest(at, 'must be a text or a list of blocks');
  const parts = objectsIn(content as readonly JsonValue[], at).flatMap(({ value, at: place }) =>
    readBlock(value, place, called),
  );
  return withSignatures(parts);
}

/** A text block. `at`: its path. Throws an InvalidRequest. */
export function readText(block: JsonObject, at: string): TextPart {
  const said = optionalList(block, 'citations', at);
  const citations = said && objectsIn(said, `${at}.citations`).map(({ value }) => readCitation(value));
  return {
    kind: 'text',
    text: requiredText(block, 'text', at),
    ...(citations?.length ? { citations } : {}),
    ...marksOf(block, textMembers, at),
  };
}

function readBlock(block: JsonObject, at: string, called: CalledTools): Part | readonly Part[] {
  const type = requiredText(block, 'type', at);
  switch (type) {
    case 'text':
      return readText(block, at);
    case 'image':
      return readImage(block, at);
    case 'document':
      return readDocument(block, at);
    case 'search_result':
      return readSearchResult(block, at);
    case 'thinking':
      return readThinking(requiredText(block, 'thinking', at), optionalText(block, 'signature', at) ?? '');
    case 'redacted_thinking':
      return readHidden(requiredText(block, 'data', at));
    case 'tool_use': {
      const name = requiredText(block, 'name', at);
      const id = called.open.call(optionalText(block, 'id', at), name);
      called.names.set(id, name);
      const input = writeJson(optionalObject(block, 'input', at) ?? {});
      return { kind: 'tool_call', id, name, input, isFreeText: false, ...marksOf(block, callMembers, at) };
    }
    case 'tool_result':
      return readResult(block, at, called);
    default:
      return readTold(block, at) ?? foreign(block, type, at);
  }
}

/** Thoughts with the signature of the family that made them; OpenAI's are not signed, but encrypted. */
export function readThinking(text: string, signed: string): ReasoningPart {
  if (signed === '') return { kind: 'reasoning', text, summary: [] };
  const signature = unpackSignature(signed, 'anthropic');
  if (signature.family !== 'openai') return { kind: 'reasoning', text, summary: [], signature };
  return { kind: 'reasoning', text: '', summary: text === '' ? [] : [text], encrypted: signature };
}

/** Thoughts that only their family can read. */
export function readHidden(data: string): ReasoningPart {
  return { kind: 'reasoning', text: '', summary: [], encrypted: unpackSignature(data, 'anthropic') };
}

function readResult(block: JsonObject, at: string, called: CalledTools): ToolResultPart | readonly Part[] {
  const callId = called.open.result(optionalText(block, 'tool_use_id', at));
  const content = readResultContent(block['content'], `${at}.content`);
  const isError = optionalFlag(block, 'is_error', at) ?? false;
  if (callId === undefined) return toldResult(undefined, content, isError);
  const name = called.names.get(callId);
  return {
    kind: 'tool_result',
    callId,
    ...(name === undefined ? {} : { name }),
    content,
    isError,
    isFreeText: false,
    ...marksOf(block, resultMembers, at),
  };
}

function readResultContent(content: JsonValue | undefined, at: string): ToolResultPart['content'] {
  if (content === undefined || content === null) return [];
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  if (!Array.isArray(content)) throw new InvalidRequest(at, 'must be a text or a list of blocks');
  return objectsIn(content as readonly JsonValue[], at).map(({ value, at: place }) => {
    const type = requiredText(value, 'type', place);
    if (type === 'text') return readText(value, place);
    if (type === 'image') return readImage(value, place);
    if (type === 'document') return readDocument(value, place);
    if (type === 'search_result') return readSearchResult(value, place);
    return readTold(value, place) ?? foreign(value, type, place);
  });
}

function foreign(value: JsonObject, name: string, place: string): ForeignPart {
  return { kind: 'foreign', dialect: 'messages', name, value, place };
}

/** Google signs calls of tools. Anthropic has no place for it, so its clients keep it as a thought without words behind the call. */
function withSignatures(parts: readonly Part[]): readonly Part[] {
  if (!parts.some(isSignatureOfCall)) return parts;
  return parts.flatMap((part, index): readonly Part[] => {
    const next = parts[index + 1];
    if (part.kind === 'tool_call') return isSignatureOfCall(next) ? [{ ...part, signature: next.signature }] : [part];
    return isSignatureOfCall(part) && parts[index - 1]?.kind === 'tool_call' ? [] : [part];
  });
}

function isSignatureOfCall(part: Part | undefined): part is ReasoningPart & { readonly signature: Signature } {
  return part?.kind === 'reasoning' && part.text === '' && part.signature?.family === 'google';
}
