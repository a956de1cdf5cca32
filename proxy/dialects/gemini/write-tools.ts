// Writes tools as Gemini's `functionDeclarations`, and which of them shall be called as its `toolConfig`.
import { isForced } from '../claude/claude-thinking.ts';
import type { ConversationRequest, FunctionTool } from '../conversation/conversation.ts';
import { fieldName } from '../field-names.ts';
import type { JsonObject } from '../json/json.ts';
import { loseForeignTool } from '../tools/foreign-tools.ts';
import { asFunctionTool } from '../tools/free-text-tools.ts';
import { withObjectInput } from '../tools/tool-schema.ts';
import type { Losses, WriteTarget } from '../translation.ts';
import { cleanSchema } from './clean-schema.ts';

/** `tools` and `toolConfig`, as far as there are any. Tools that take free text become functions. */
export function writeTools(request: ConversationRequest, target: WriteTarget, losses: Losses): JsonObject {
  const { tools, dialect } = request;
  const functions: JsonObject[] = [];
  const own: JsonObject[] = [];
  for (const [index, tool] of tools.entries()) {
    if (tool.kind === 'function') functions.push(writeFunction(tool, { request, target, losses }));
    else if (tool.kind === 'free_text')
      functions.push(writeFunction(asFunctionTool(tool), { request, target, losses }));
    else if (tool.dialect === 'gemini') own.push(tool.value);
    else loseForeignTool(request, index, losses);
  }
  // Whether several tools are called at once is up to the model.
  if (request.parallelTools === false && tools.length > 0) losses.hint(fieldName('parallelTools', dialect));
  const written = [...(functions.length === 0 ? [] : [{ functionDeclarations: functions }]), ...own];
  if (written.length === 0) {
    // Nothing can be called, although something must.
    if (isForced(request.toolChoice)) losses.hint(fieldName('toolChoice', dialect));
    return {};
  }
  return { tools: written, ...writeChoice(request, functions, losses) };
}

interface Writing {
  readonly request: ConversationRequest;
  readonly target: WriteTarget;
  readonly losses: Losses;
}

function writeFunction(tool: FunctionTool, { request: { dialect }, target, losses }: Writing): JsonObject {
  const { name, strict, cacheMark } = tool;
  // Without input, nothing is said of it.
  const { description, parameters } = (tool.parameters === undefined ? undefined : withObjectInput(tool)) ?? tool;
  if (strict === true) losses.hint(fieldName('strict', dialect));
  if (cacheMark !== undefined) losses.hint(fieldName('cacheMark', dialect));
  const told = description === undefined ? { name } : { name, description };
  if (parameters === undefined) return told;
  if (target.quirks.takesJsonSchema === true) return { ...told, parametersJsonSchema: parameters };
  const { schema, dropped } = cleanSchema(parameters);
  for (const keyword of dropped) losses.hint(`${fieldName('toolSchema', dialect)}.${keyword}`);
  // Objects without members are refused at the top; no parameters mean the same.
  const isEmpty = schema['type'] === 'object' && schema['properties'] === undefined;
  return isEmpty ? told : { ...told, parameters: schema };
}

/** A tool that was left out cannot be chosen. */
function writeChoice(
  { toolChoice, dialect }: ConversationRequest,
  functions: readonly JsonObject[],
  losses: Losses,
): JsonObject {
  if (toolChoice === undefined || functions.length === 0) return {};
  if (toolChoice.kind !== 'tool') return { toolConfig: { functionCallingConfig: { mode: modes[toolChoice.kind] } } };
  const { name } = toolChoice;
  if (!functions.some((declared) => declared['name'] === name)) {
    losses.hint(fieldName('toolChoice', dialect));
    return {};
  }
  return { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [name] } } };
}

const modes = { auto: 'AUTO', none: 'NONE', required: 'ANY' } as const;
