// Writes the parts of a turn as blocks for Anthropic. What it refuses to read is left out.
import type { Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart } from '../conversation/parts.ts';
import { fieldName } from '../field-names.ts';
import { type JsonObject, objectOf } from '../json/json.ts';
import { inputObject } from '../tools/free-text-tools.ts';
import { isProvable, writeCitation } from './citations.ts';
import { withMarks } from './marks.ts';
import { searchResultText } from './read/read-sources.ts';
import { toldText } from './told-blocks.ts';
import { writeFile, writeImage } from './write-sources.ts';
import type { Writing } from './writing.ts';

/** The blocks of these parts, in their order. */
export function writeBlocks(parts: readonly Part[], writing: Writing): readonly JsonObject[] {
  return parts.map((part) => writeBlock(part, writing)).filter((block) => block !== undefined);
}

function writeBlock(part: Part, writing: Writing): JsonObject | undefined {
  const { losses, request } = writing;
  switch (part.kind) {
    case 'text':
      return writeText(part, writing);
    case 'refusal':
      return writeText({ kind: 'text', text: part.text }, writing);
    case 'image':
      return writeImage(part, writing);
    case 'file':
      return writeFile(part, writing);
    case 'audio':
      losses.meaning(fieldName('turns', request.dialect), 'it does not hear', part.place);
      return undefined;
    case 'tool_call':
      return writeCall(part);
    case 'tool_result':
      return writeResult(part, writing);
    case 'reasoning':
      return writeReasoning(part, writing);
    case 'foreign':
      break;
  }
  if (part.dialect === 'messages') return part.value;
  losses.meaning(fieldName('turns', request.dialect), `it has nothing like ${part.name}`, part.place);
  return undefined;
}

/** A text block; undefined for blank text, which Anthropic refuses. */
export function writeText(part: TextPart, { losses, request }: Writing): JsonObject | undefined {
  if (part.text.trim() === '') return undefined;
  const own = part.own?.dialect === 'messages' ? part.own.members : {};
  const found = objectOf(own['search_result']);
  const told = objectOf(own['told']);
  // A text that was changed since is written in its new words.
  if (found !== undefined && searchResultText(found) === part.text) return found;
  if (told !== undefined && toldText(told) === part.text) return told;
  if (found !== undefined || told !== undefined)
    return withMarks({ type: 'text', text: part.text }, { cacheMark: part.cacheMark });
  const citations =
    part.citations
      ?.filter(isProvable)
      .map(writeCitation)
      .filter((place) => place !== undefined) ?? [];
  if (citations.length < (part.citations?.length ?? 0)) losses.hint(fieldName('citations', request.dialect));
  return withMarks({ type: 'text', text: part.text, ...(citations.length === 0 ? {} : { citations }) }, part);
}

function writeCall(part: ToolCallPart): JsonObject {
  const { id, name } = part;
  return withMarks({ type: 'tool_use', id, name, input: inputObject(part) }, part);
}

function writeResult(part: ToolResultPart, writing: Writing): JsonObject {
  const [only] = part.content;
  const blocks = writeBlocks(part.content, writing);
  const isPlain = blocks.length === 1 && only?.kind === 'text' && isPlainText(blocks[0]);
  const content = isPlain ? (blocks[0]?.['text'] ?? '') : blocks;
  return withMarks(
    {
      type: 'tool_result',
      tool_use_id: part.callId,
      ...(blocks.length === 0 ? {} : { content }),
      ...(part.isError ? { is_error: true } : {}),
    },
    part,
  );
}

/** Whether a block is a text and nothing else, so that its text says as much. */
export function isPlainText(block: JsonObject | undefined): boolean {
  return block?.['type'] === 'text' && Object.keys(block).length === 2;
}

/** Thoughts that Anthropic did not sign cannot be taken back. */
function writeReasoning({ text, summary, signature, encrypted }: ReasoningPart, writing: Writing) {
  if (encrypted?.family === 'anthropic') return { type: 'redacted_thinking', data: encrypted.value };
  if (signature?.family === 'anthropic')
    return { type: 'thinking', thinking: text || summary.join('\n\n'), signature: signature.value };
  writing.losses.hint(fieldName('reasoning', writing.request.dialect));
  return undefined;
}
