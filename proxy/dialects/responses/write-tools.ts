// Writes the tools of a request, and which of them must be called.
import { isForced } from '../claude/claude-thinking.ts';
import type { ConversationRequest, FunctionTool, Tool, ToolChoice } from '../conversation/conversation.ts';
import { fieldName } from '../field-names.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import { loseForeignTool } from '../tools/foreign-tools.ts';
import { asFunctionTool } from '../tools/free-text-tools.ts';
import { isWhollyStrict, withObjectInput } from '../tools/tool-schema.ts';
import type { Losses } from '../translation.ts';

/** `tools` and `tool_choice`, as far as there are any. `hasFreeText`: tools that take free text are known. */
export function writeTools(request: ConversationRequest, hasFreeText: boolean, losses: Losses): JsonObject {
  const tools = request.tools.flatMap((tool, index) => {
    if (tool.kind !== 'foreign') return [writeTool(tool, request, { hasFreeText, losses })];
    if (tool.dialect === 'responses') return [tool.value];
    loseForeignTool(request, index, losses);
    return [];
  });
  const { toolChoice, dialect } = request;
  if (tools.length === 0 && (dialect !== 'responses' || request.tools.length > 0)) {
    // Nothing can be called, although something must.
    if (isForced(toolChoice)) losses.hint(fieldName('toolChoice', dialect));
    return {};
  }
  return {
    ...(tools.length === 0 ? {} : { tools }),
    ...(toolChoice === undefined ? {} : { tool_choice: writeChoice(toolChoice, request.tools, hasFreeText) }),
  };
}

interface Writing {
  readonly hasFreeText: boolean;
  readonly losses: Losses;
}

function writeTool(
  tool: Exclude<Tool, { kind: 'foreign' }>,
  request: ConversationRequest,
  writing: Writing,
): JsonObject {
  const { hasFreeText, losses } = writing;
  if (tool.kind === 'function') return writeFunction(tool, request, losses);
  if (!hasFreeText) {
    if (tool.format?.['type'] === 'grammar') losses.hint('tools.format');
    return writeFunction(asFunctionTool(tool), request, losses);
  }
  const { name, description, format } = tool;
  return {
    type: 'custom',
    name,
    ...(description === undefined ? {} : { description }),
    ...(format === undefined ? {} : { format }),
  };
}

function writeFunction(tool: FunctionTool, { dialect }: ConversationRequest, losses: Losses): JsonObject {
  const isFit = dialect === 'responses' || tool.parameters === undefined;
  const fit = (isFit ? undefined : withObjectInput(tool)) ?? tool;
  const { name, description, parameters, strict, cacheMark, own } = fit;
  if (cacheMark !== undefined) losses.hint(fieldName('cacheMark', dialect));
  // OpenAI may refuse a strict schema that Anthropic accepts.
  const isLost = strict === true && dialect === 'messages' && !isWhollyStrict(parameters);
  if (isLost) losses.hint(fieldName('strict', dialect));
  // Left out, `strict` is true here and false elsewhere.
  const told = dialect === 'responses' ? strict : strict === true && !isLost;
  return {
    type: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    parameters: parameters ?? null,
    ...(told === undefined ? {} : { strict: told }),
    ...(own?.dialect === 'responses' ? own.members : {}),
  };
}

function writeChoice(choice: ToolChoice, tools: readonly Tool[], hasFreeText: boolean): JsonValue {
  if (choice.kind !== 'tool') return choice.kind;
  const isFreeText = hasFreeText && tools.some((tool) => tool.kind === 'free_text' && tool.name === choice.name);
  const { name, namespace } = choice;
  return { type: isFreeText ? 'custom' : 'function', name, ...(namespace === undefined ? {} : { namespace }) };
}
