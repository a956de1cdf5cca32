// Writes the tools, and which of them may be called. Converse cannot forbid the call of tools: then no tools are sent.
import type { ConversationRequest, ForeignTool, FunctionTool, Tool, ToolChoice } from '../conversation/conversation.ts';
import { loseForeignTool } from '../foreign-tools.ts';
import { asFunctionTool } from '../free-text-tools.ts';
import type { JsonObject } from '../json.ts';
import { cachePoint } from './write-blocks.ts';
import type { Writing } from './writing.ts';

const noInput: JsonObject = { type: 'object', properties: {} };

/** Undefined: the request names no tools. */
export function writeTools(request: ConversationRequest, writing: Writing): JsonObject | undefined {
  const { tools, toolChoice, parallelTools } = request;
  if (toolChoice?.kind === 'none') return undefined;
  const written = tools.flatMap((tool, index) => {
    if (tool.kind !== 'foreign') return writeTool(tool, writing);
    loseForeignTool(request, index, writing.losses);
    return [];
  });
  if (written.length === 0) return undefined;
  if (parallelTools === false) writing.hint('parallelTools');
  return { tools: written, ...choiceOf(toolChoice) };
}

function writeTool(tool: Exclude<Tool, ForeignTool>, writing: Writing): readonly JsonObject[] {
  if (tool.kind === 'free_text') return [specOf(asFunctionTool(tool))];
  if (tool.strict) writing.hint('strict');
  for (const member of Object.keys(tool.own?.members ?? {})) writing.losses.hint(`tools.${member}`);
  const spec = specOf(tool);
  if (tool.cacheMark === undefined) return [spec];
  if (!writing.traits.hasToolCache) {
    writing.hint('cacheMark');
    return [spec];
  }
  return [spec, cachePoint(tool.cacheMark, writing)].filter((value) => value !== undefined);
}

function specOf({ name, description, parameters }: FunctionTool): JsonObject {
  const told = description === undefined || description.trim() === '' ? {} : { description };
  return { toolSpec: { name, ...told, inputSchema: { json: parameters ?? noInput } } };
}

function choiceOf(choice: ToolChoice | undefined): JsonObject {
  if (choice?.kind === 'auto') return { toolChoice: { auto: {} } };
  if (choice?.kind === 'required') return { toolChoice: { any: {} } };
  return choice?.kind === 'tool' ? { toolChoice: { tool: { name: choice.name } } } : {};
}
