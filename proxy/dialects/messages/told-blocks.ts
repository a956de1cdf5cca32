// Blocks that only Anthropic knows, and that can be told in words elsewhere: which tools a search has found, and what a conversation came to.
import type { TextPart } from '../conversation/parts.ts';
import { type JsonObject, listOf, objectOf, textOf, writeJson } from '../json/json.ts';
import { optionalObject } from '../json/members.ts';

/** A search among the tools of the request. Where another provider is asked, it is told of all of them. */
const search = /^tool_search_tool/;

/** The block as a text that keeps it, for writers of the same dialect; undefined for any other block. */
export function readTold(block: JsonObject, at: string): TextPart | undefined {
  const text = toldText(block);
  if (text === undefined) return undefined;
  const cacheMark = optionalObject(block, 'cache_control', at);
  return { kind: 'text', text, cacheMark, own: { dialect: 'messages', members: { told: block } } };
}

/** The block in words; undefined for any other block. */
export function toldText(block: JsonObject): string | undefined {
  switch (block['type']) {
    case 'tool_reference':
      return `[The tool ${nameIn(block)} can be called now.]`;
    case 'server_tool_use':
      if (!search.test(textOf(block['name']) ?? '')) return undefined;
      return `[Searched for tools: ${writeJson(block['input'] ?? {})}]`;
    case 'tool_search_tool_result': {
      const found = listOf(objectOf(block['content'])?.['tool_references']);
      const names = (found ?? []).map((reference) => nameIn(objectOf(reference)));
      return names.length === 0 ? '[No tool was found.]' : `[Found the tools ${names.join(', ')}.]`;
    }
    // A compaction block sums up the conversation before it.
    case 'compaction':
      return textOf(block['content']);
    default:
      return undefined;
  }
}

function nameIn(reference: JsonObject | undefined): string {
  return textOf(reference?.['tool_name']) ?? '';
}
