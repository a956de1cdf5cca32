// Writes the tools of a request, and which of them must be called.
import { isForced } from '../claude/claude-thinking.ts';
import type { FunctionTool, Tool, ToolChoice } from '../conversation/conversation.ts';
import { fieldName } from '../field-names.ts';
import type { JsonObject } from '../json/json.ts';
import { loseForeignTool, toolPlace } from '../tools/foreign-tools.ts';
import { asFunctionTool } from '../tools/free-text-tools.ts';
import { withObjectInput } from '../tools/tool-schema.ts';
import { withMarks } from './marks.ts';
import type { Writing } from './writing.ts';

/** `tools`; undefined when there are none. Throws what the losses of `writing` throw. */
export function writeTools(writing: Writing): readonly JsonObject[] | undefined {
  const { tools } = writing.request;
  const written = tools.map((tool, index) => writeTool(tool, index, writing)).filter((tool) => tool !== undefined);
  return written.length === 0 ? undefined : written;
}

function writeTool(tool: Tool, index: number, { losses, request }: Writing): JsonObject | undefined {
  if (tool.kind === 'foreign') {
    if (tool.dialect === 'messages') return tool.value;
    loseForeignTool(request, index, losses);
    return undefined;
  }
  return writeFunction(tool.kind === 'free_text' ? asFunctionTool(tool) : tool, index, { losses, request });
}

function writeFunction(
  tool: FunctionTool,
  index: number,
  { losses, request }: Pick<Writing, 'losses' | 'request'>,
): JsonObject | undefined {
  const isOwn = request.dialect === 'messages';
  const fit = isOwn ? tool : withObjectInput(tool);
  if (fit?.parameters === undefined) {
    losses.meaning(`tools[${index}]`, 'the input of its tools is an object', toolPlace(tool, index));
    return undefined;
  }
  const { name, description, parameters, strict } = fit;
  if (strict === true && !isOwn) losses.hint(fieldName('strict', request.dialect));
  return withMarks(
    {
      name,
      ...(description === undefined ? {} : { description }),
      input_schema: parameters,
      ...(strict === undefined || !isOwn ? {} : { strict }),
    },
    tool,
  );
}

/** `tool_choice`; undefined for the default. */
export function writeToolChoice(writing: Writing, hasTools: boolean): JsonObject | undefined {
  const { losses, request } = writing;
  const { parallelTools, dialect } = request;
  const isOwn = dialect === 'messages';
  const toolChoice = !isOwn && hasTools ? withoutForce(writing) : (request.toolChoice ?? { kind: 'auto' });
  if (!hasTools && !isOwn) {
    if (toolChoice.kind === 'required' || toolChoice.kind === 'tool') losses.hint(fieldName('toolChoice', dialect));
    return undefined;
  }
  const isParallelSaid = parallelTools === false || (parallelTools === true && isOwn);
  if (!isParallelSaid || (toolChoice.kind === 'none' && !isOwn))
    return request.toolChoice === undefined ? undefined : choiceOf(toolChoice);
  return { ...choiceOf(toolChoice), disable_parallel_tool_use: !parallelTools };
}

/** Some models refuse to be made to call a tool. */
function withoutForce({ losses, request, traits }: Writing): ToolChoice {
  const { toolChoice = { kind: 'auto' }, dialect } = request;
  if (traits.canBeForced || !isForced(toolChoice)) return toolChoice;
  losses.meaning(fieldName('toolChoice', dialect), 'its model cannot be made to call a tool');
  return { kind: 'auto' };
}

function choiceOf(choice: ToolChoice): JsonObject {
  if (choice.kind === 'tool') return { type: 'tool', name: choice.name };
  return { type: choice.kind === 'required' ? 'any' : choice.kind };
}
