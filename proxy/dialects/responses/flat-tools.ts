// The tools of a request in the Responses format as other dialects know them: those of namespaces and those that came later stand in one list,
// each by a name of its own.
import type {
  ConversationRequest,
  ForeignTool,
  FreeTextTool,
  FunctionTool,
  Tool,
} from '../conversation/conversation.ts';
import { isObject, type JsonObject, objectOf, textOf } from '../json/json.ts';
import { objectsIn, optionalList, optionalText, requiredText } from '../json/members.ts';
import { placedTools } from '../tools/foreign-tools.ts';
import { callTypeOf, clientFunction } from './client-tools.ts';
import { allowedKey, readTool } from './read/read-tools.ts';

export interface FlatTools {
  readonly tools: readonly Tool[];
  /** The name of the function that stands for a tool of a namespace, or for one whose calls are items of this type. */
  readonly nameOf: (tool: { readonly namespace: string; readonly name: string } | { readonly item: string }) => string;
}

/** A list of tools in an item of the input. */
export interface LaterTools {
  readonly value: JsonObject;
  readonly place: string;
}

/** Between a namespace and a name, as agents write them that know no namespaces. */
const gap = '__';

function joined(namespace: string, name: string): string {
  return namespace.endsWith('_') ? namespace + name : namespace + gap + name;
}

/** `later`: items that bring further tools, in their order. Throws an InvalidRequest. */
export function flatTools(request: ConversationRequest, later: readonly LaterTools[]): FlatTools {
  const given = placedTools(request.tools).flatMap(inner);
  const seen = new Set(given.map(keyOf));
  const added = later.flatMap(toolsIn).filter((tool) => {
    const key = keyOf(tool);
    const isNew = !seen.has(key) && isAllowed(request, tool);
    seen.add(key);
    return isNew;
  });
  const names = new Names([...given, ...added]);
  return { tools: [...given, ...added].map((tool) => names.named(tool)), nameOf: (tool) => names.of(tool) };
}

type Named = FunctionTool | FreeTextTool;

/** The tools of a namespace, or the tool itself. */
function inner(tool: Tool): readonly Tool[] {
  if (tool.kind !== 'foreign' || tool.dialect !== 'responses' || tool.name !== 'namespace') return [tool];
  const at = tool.place ?? 'tools';
  const namespace = requiredText(tool.value, 'name', at);
  const about = optionalText(tool.value, 'description', at) ?? '';
  return objectsIn(optionalList(tool.value, 'tools', at) ?? [], `${at}.tools`).map(({ value, at: place }, index) => {
    const read = { ...readTool(value, place).tool, place };
    if (read.kind === 'foreign') return read;
    // The description of the namespace is told once.
    const said = index === 0 && about !== '' ? [`About all tools of ${namespace}: ${about}`] : [];
    const description = [...said, ...(read.description === undefined ? [] : [read.description])].join('\n\n');
    return { ...read, ...(description === '' ? {} : { description }), calledAs: { namespace, name: read.name } };
  });
}

function toolsIn({ value, place }: LaterTools): readonly Tool[] {
  const list = objectsIn(optionalList(value, 'tools', place) ?? [], `${place}.tools`);
  return list.flatMap(({ value: tool, at }) => inner({ ...readTool(tool, at).tool, place: at }));
}

/** The identity of a tool. */
function keyOf(tool: Tool): string {
  if (tool.kind === 'foreign') return allowedKey(tool.value);
  const { calledAs, name } = tool;
  const isInner = calledAs !== undefined && 'namespace' in calledAs;
  const type = tool.kind === 'function' ? 'function' : 'custom';
  return allowedKey(isInner ? { type, ...calledAs } : { type, name });
}

/** The client lets the model choose among some of the tools alone. */
function isAllowed({ ownMembers }: ConversationRequest, tool: Tool): boolean {
  const choice = objectOf(ownMembers.find(({ path }) => path.length === 1 && path[0] === 'tool_choice')?.value);
  if (choice?.['type'] !== 'allowed_tools') return true;
  const allowed = choice['tools'];
  const list: readonly unknown[] = Array.isArray(allowed) ? allowed : [];
  return list.some((entry) => isObject(entry) && allowedKey(entry) === keyOf(tool));
}

/** Names of functions, none twice. */
class Names {
  readonly #taken: Set<string>;
  readonly #given = new Map<string, string>();

  constructor(tools: readonly Tool[]) {
    this.#taken = new Set(tools.flatMap((tool) => (isPlain(tool) ? [tool.name] : [])));
  }

  named(tool: Tool): Tool {
    if (tool.kind === 'foreign') return this.#clientTool(tool);
    const { calledAs } = tool;
    if (calledAs === undefined || !('namespace' in calledAs)) return tool;
    const name = this.#give(keyOfPlace(calledAs), joined(calledAs.namespace, calledAs.name));
    return { ...tool, name };
  }

  of(place: { readonly namespace: string; readonly name: string } | { readonly item: string }): string {
    const usual = 'item' in place ? place.item.replace(/_call$/, '') : joined(place.namespace, place.name);
    return this.#given.get(keyOfPlace(place)) ?? usual;
  }

  #clientTool(tool: ForeignTool): Tool {
    const item = callTypeOf(tool);
    return (item && clientFunction(tool, item, this.#give(item, tool.name))) || tool;
  }

  #give(key: string, wanted: string): string {
    const before = this.#given.get(key);
    if (before !== undefined) return before;
    let name = wanted;
    while (this.#taken.has(name)) name += '_';
    this.#taken.add(name);
    this.#given.set(key, name);
    return name;
  }
}

function isPlain(tool: Tool): tool is Named {
  return tool.kind !== 'foreign' && tool.calledAs === undefined;
}

function keyOfPlace(place: { readonly namespace: string; readonly name: string } | { readonly item: string }): string {
  return 'item' in place ? place.item : `${place.namespace}\n${place.name}`;
}

/** The namespace of a call that a client sends back. */
export function namespaceOf(members: JsonObject | undefined): string | undefined {
  return textOf(members?.['namespace']);
}
