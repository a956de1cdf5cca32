// Handles a tool that the target's dialect does not know: most only add to what a model can do.
import type { ConversationRequest, ForeignTool, Tool } from '../conversation/conversation.ts';
import { textOf } from '../json/json.ts';
import type { Losses } from '../translation.ts';

/**
 * Tells that a tool is left out. `index`: its place in the request's list. The tools of the Responses format that a provider runs, or that
 * an agent offers beside its functions, are hints as long as the model need not call them.
 */
export function loseForeignTool(request: ConversationRequest, index: number, losses: Losses): void {
  const tool = request.tools[index];
  if (tool?.kind !== 'foreign') return;
  const field = toolPlace(tool, index);
  // Who searches for tools is told of all of them.
  const isOptional = tool.dialect === 'responses' || tool.name.startsWith('tool_search_tool_');
  if (isOptional && !isForced(request, tool)) losses.hint(field);
  else losses.meaning(field, `it has no tool of the type ${tool.name}`);
}

/** The tools with their places, before some of them are left out. */
export function placedTools(tools: readonly Tool[]): readonly Tool[] {
  return tools.map((tool, index) => ({ ...tool, place: toolPlace(tool, index) }));
}

/** Where the tool at this index of the conversation stands in the client's body. */
export function toolPlace({ place }: Tool, index: number): string {
  return place ?? `tools[${index}]`;
}

/** The model must call it: it is named, or one must be called and there is no other one. */
function isForced({ tools, toolChoice }: ConversationRequest, tool: ForeignTool): boolean {
  if (toolChoice?.kind === 'tool') return toolChoice.name === (textOf(tool.value['name']) ?? tool.name);
  return toolChoice?.kind === 'required' && tools.every(({ kind }) => kind === 'foreign');
}
