// Writes the tools of a request and what is chosen of them.
import { isForced } from '../claude/claude-thinking.ts';
import type { ConversationRequest, Tool, ToolChoice } from '../conversation/conversation.ts';
import { type JsonObject, type JsonValue, objectOf, textOf } from '../json/json.ts';
import { asFunctionTool } from '../tools/free-text-tools.ts';
import { isWhollyStrict, withObjectInput } from '../tools/tool-schema.ts';
import { takesFreeText } from './write-messages.ts';
import type { Writing } from './writing.ts';

/** `tools`, `tool_choice` and `parallel_tool_calls`. Without tools nothing is chosen. */
export function writeTools(request: ConversationRequest, writing: Writing): JsonObject {
  if (request.tools.length > 0 && writing.lacks('tools')) return writing.meaning('tools', 'it has no tools') ?? {};
  const tools = request.tools.flatMap((tool, index) => writeTool(tool, index, writing));
  if (tools.length === 0) {
    // Nothing can be called, although something must.
    if (isForced(request.toolChoice)) writing.hint('toolChoice');
    return {};
  }
  return { tools, ...writeChoice(request, writing), ...writeParallel(request, writing) };
}

function writeTool(tool: Tool, index: number, writing: Writing): readonly JsonObject[] {
  if (tool.kind === 'foreign') {
    if (tool.dialect === 'chat') return [tool.value];
    writing.loseTool(index);
    return [];
  }
  if (tool.kind === 'free_text' && takesFreeText(writing)) {
    const { name, description, format } = tool;
    return [{ type: 'custom', custom: { name, description, format: nestedFormat(format) } }];
  }
  const asked = tool.kind === 'free_text' ? asFunctionTool(tool) : tool;
  // OpenAI may refuse a strict schema that Anthropic accepts.
  const isElsewhereStrict = writing.dialect === 'messages';
  // A schema of another dialect may be one that OpenAI refuses.
  const isFit = writing.isOwn || asked.parameters === undefined;
  const { name, description, parameters, strict, cacheMark, own } =
    (isFit ? undefined : withObjectInput(asked)) ?? asked;
  if (cacheMark !== undefined && !writing.isOwn) writing.hint('cacheMark');
  const isStrictLost =
    strict === true && (writing.lacks('strict') || (isElsewhereStrict && !isWhollyStrict(parameters)));
  if (isStrictLost) writing.hint('strict');
  const further = own?.dialect === 'chat' ? own.members : {};
  const called = {
    name,
    description,
    parameters,
    strict: isStrictLost ? undefined : strict,
    ...objectOf(further['function']),
  };
  const beside = { cache_control: writing.isOwn ? cacheMark : undefined, ...objectOf(further['tool']) };
  return [{ type: 'function', function: called, ...beside }];
}

function nestedFormat(format: JsonObject | undefined): JsonObject | undefined {
  if (format === undefined || textOf(format['definition']) === undefined) return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

function writeChoice({ toolChoice, tools }: ConversationRequest, writing: Writing): JsonObject {
  if (toolChoice === undefined) return {};
  if (!writing.lacks('tool_choice')) return { tool_choice: choiceOf(toolChoice, tools, writing) };
  if (toolChoice.kind !== 'auto') writing.meaning('toolChoice', 'it chooses tools by itself');
  return {};
}

function choiceOf(choice: ToolChoice, tools: readonly Tool[], writing: Writing): JsonValue {
  if (choice.kind !== 'tool') return choice.kind;
  const { name } = choice;
  const isFreeText = tools.some((tool) => tool.kind === 'free_text' && tool.name === name);
  if (isFreeText && takesFreeText(writing)) return { type: 'custom', custom: { name } };
  return { type: 'function', function: { name } };
}

function writeParallel({ parallelTools }: ConversationRequest, writing: Writing): JsonObject {
  if (parallelTools === undefined) return {};
  if (!writing.lacks('parallel_tool_calls')) return { parallel_tool_calls: parallelTools };
  // Agents switch it off as a matter of course, and can take several calls.
  writing.hint('parallelTools');
  return {};
}
