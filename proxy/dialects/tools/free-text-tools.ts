// Tools that take free text, for dialects whose tools take JSON alone: a function with one text, and its calls read back as that text.
import type { ConversationRequest, FreeTextTool, FunctionTool } from '../conversation/conversation.ts';
import type { ToolCallPart } from '../conversation/parts.ts';
import type { StreamEvent } from '../conversation/stream-event.ts';
import { type JsonObject, parseObject, textOf, writeJson } from '../json/json.ts';
import { InvalidAnswer } from '../translation.ts';

/** The tool as a function with one text named `input`. A grammar of the text is told in words. */
export function asFunctionTool({ name, description, format }: FreeTextTool): FunctionTool {
  const grammar = textOf(format?.['definition']);
  const syntax = textOf(format?.['syntax']) ?? 'given';
  const rule = grammar === undefined ? [] : [`The text of \`input\` follows this grammar (${syntax}):\n${grammar}`];
  const told = [...(description === undefined || description === '' ? [] : [description]), ...rule];
  return {
    kind: 'function',
    name,
    description: told.length === 0 ? undefined : told.join('\n\n'),
    parameters: {
      type: 'object',
      properties: { input: { type: 'string', description: 'The whole input of the tool, as it is.' } },
      required: ['input'],
      additionalProperties: false,
    },
  };
}

/** The free text of an earlier call as the JSON of that function's input. */
export function asFunctionInput(text: string): string {
  return writeJson({ input: text });
}

/** The input of an earlier call as an object; a text that is none is put into one. */
export function inputObject({ input, isFreeText }: Pick<ToolCallPart, 'input' | 'isFreeText'>): JsonObject {
  if (isFreeText) return { input };
  return input.trim() === '' ? {} : (parseObject(input) ?? { input });
}

/** The free text in the input of that function. What a model wrote otherwise is the text itself. */
export function asFreeText(input: string): string {
  return textOf(parseObject(input)?.['input']) ?? input;
}

/** The names of the tools that take free text. */
export function freeTextNames({ tools }: ConversationRequest): ReadonlySet<string> {
  return new Set(tools.flatMap((tool) => (tool.kind === 'free_text' ? [tool.name] : [])));
}

/** A call as the client declared its tool: a function's call of a tool that takes free text becomes one with free text. */
export function restoreFreeText(call: ToolCallPart, names: ReadonlySet<string>): ToolCallPart {
  if (call.isFreeText || !names.has(call.name)) return call;
  return { ...call, input: asFreeText(call.input), isFreeText: true };
}

const none: readonly StreamEvent[] = [];
/** Longest input that is held to be read as JSON. Characters. */
const mostHeld = 4 * 1024 * 1024;

/**
 * `restoreFreeText` for a stream. The input of such a call is held until it is complete; everything else passes. Throws
 * an InvalidAnswer for one that is too long.
 */
export class FreeTextRestorer {
  readonly #names: ReadonlySet<string>;
  #held: string[] | undefined;
  #heldLength = 0;

  constructor(request: ConversationRequest) {
    this.#names = freeTextNames(request);
  }

  push(event: StreamEvent): readonly StreamEvent[] {
    if (this.#held === undefined) {
      if (event.kind !== 'opened' || event.part.kind !== 'tool_call') return [event];
      if (event.part.isFreeText || !this.#names.has(event.part.name)) return [event];
      this.#held = [];
      this.#heldLength = 0;
      return [{ ...event, part: { ...event.part, isFreeText: true } }];
    }
    if (event.kind === 'delta' && event.delta.kind === 'text') {
      this.#held.push(event.delta.text);
      this.#heldLength += event.delta.text.length;
      if (this.#heldLength > mostHeld) throw new InvalidAnswer('the input of a tool is too long to be translated');
      return none;
    }
    if (event.kind !== 'closed') return [event];
    const text = asFreeText(this.#held.join(''));
    this.#held = undefined;
    return [{ kind: 'delta', index: event.index, delta: { kind: 'text', text } }, event];
  }
}
