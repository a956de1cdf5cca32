// Writes the tools, and which of them may be called. Converse cannot forbid the call of tools: then no tools are sent.
import { isForced } from '../claude/claude-thinking.ts';
import type { ConversationRequest, ForeignTool, FunctionTool, Tool, ToolChoice } from '../conversation/conversation.ts';
import type { JsonObject } from '../json/json.ts';
import { loseForeignTool, toolPlace } from '../tools/foreign-tools.ts';
import { asFunctionTool } from '../tools/free-text-tools.ts';
import { withObjectInput } from '../tools/tool-schema.ts';
import { cachePoint } from './write-blocks.ts';
import type { Writing } from './writing.ts';

/** `toolConfig`; undefined when the request names no tools. Throws what the losses of `writing` throw. */
export function writeTools(request: ConversationRequest, writing: Writing): JsonObject | undefined {
  const { tools, toolChoice, parallelTools } = request;
  if (toolChoice?.kind === 'none') return undefined;
  const written = tools.flatMap((tool, index) => {
    if (tool.kind !== 'foreign') return writeTool(tool, index, writing);
    loseForeignTool(request, index, writing.losses);
    return [];
  });
  if (written.length === 0) {
    // Nothing can be called, although something must.
    if (isForced(toolChoice)) writing.hint('toolChoice');
    return undefined;
  }
  if (parallelTools === false) writing.hint('parallelTools');
  const isRefused = isForced(toolChoice) && !writing.traits.canBeForced;
  if (isRefused) writing.meaning('toolChoice', 'its model cannot be made to call a tool');
  // The default choice is left out, because some models refuse every choice.
  const isUsual = toolChoice?.kind === 'auto' && writing.traits.family === 'other';
  return { tools: written, ...(isRefused || isUsual ? {} : choiceOf(toolChoice)) };
}

function writeTool(tool: Exclude<Tool, ForeignTool>, index: number, writing: Writing): readonly JsonObject[] {
  if (tool.kind === 'free_text') return [specOf(asFunctionTool(tool), writing)];
  const fit = withObjectInput(tool);
  if (fit === undefined) {
    writing.losses.meaning(`tools[${index}]`, 'the input of its tools is an object', toolPlace(tool, index));
    return [];
  }
  if (tool.strict) writing.hint('strict');
  const spec = specOf(fit, writing);
  if (tool.cacheMark === undefined) return [spec];
  if (!writing.traits.hasToolCache) {
    writing.hint('cacheMark');
    return [spec];
  }
  return [spec, cachePoint(tool.cacheMark, writing)].filter((value) => value !== undefined);
}

function specOf({ name, description, parameters = {} }: FunctionTool, { traits }: Writing): JsonObject {
  const told = description === undefined || description.trim() === '' ? {} : { description };
  const json = traits.family === 'nova' ? forNova(parameters) : parameters;
  return { toolSpec: { name, ...told, inputSchema: { json } } };
}

/** Nova refuses any other member at the top (docs.aws.amazon.com/nova/latest/userguide/tool-use-definition.html); definitions are referred to. */
const membersForNova: ReadonlySet<string> = new Set('type properties required $defs definitions'.split(' '));

function forNova(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => membersForNova.has(keyword)));
}

function choiceOf(choice: ToolChoice | undefined): JsonObject {
  if (choice?.kind === 'auto') return { toolChoice: { auto: {} } };
  if (choice?.kind === 'required') return { toolChoice: { any: {} } };
  return choice?.kind === 'tool' ? { toolChoice: { tool: { name: choice.name } } } : {};
}
