// The turns of a conversation, read from recorded bodies of every dialect. Bodies are foreign: any member may be missing or of another type. Pure.

export interface Turn {
  /** `system`, `user`, `assistant`, `tool`, or what the body says. */
  readonly role: string;
  readonly parts: readonly Part[];
}

export interface Part {
  /** `other`: something that is not shown, such as an image; `text` says what it is. */
  readonly kind: 'text' | 'thought' | 'call' | 'result' | 'other';
  readonly text: string;
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
}

function wordsOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}

/** The turns of a request: its instructions, then its messages. */
export function turnsOfRequest(body: unknown): Turn[] {
  const { system, instructions, messages, input, prompt } = fieldsOf(body);
  const opening = [system, instructions].flatMap((each) => turnOf('system', each));
  const said = listOf(messages ?? input ?? prompt).flatMap((each) => turnsOfItem(each, 'user'));
  return [...opening, ...said];
}

/** The turns of an answer. */
export function turnsOfAnswer(body: unknown): Turn[] {
  const { choices, content, output, error } = fieldsOf(body);
  if (error !== undefined) return turnOf('error', fieldsOf(error)['message'] ?? error);
  const ofChoices = listOf(choices).flatMap((each) => {
    const { message, text } = fieldsOf(each);
    return message === undefined ? turnOf('assistant', text) : turnsOfItem(message, 'assistant');
  });
  const ofOutput = listOf(output).flatMap((each) => turnsOfItem(each, 'assistant'));
  return [...ofChoices, ...turnOf('assistant', content), ...ofOutput];
}

/** A message, an item of the Responses API, or a plain text. */
function turnsOfItem(item: unknown, usualRole: string): Turn[] {
  if (typeof item === 'string') return turnOf(usualRole, item);
  const { role, type, content, tool_calls, reasoning_content } = fieldsOf(item);
  if (role === undefined && type !== undefined && type !== 'message') {
    const part = partOf(item);
    return [{ role: part.kind === 'result' ? 'tool' : 'assistant', parts: [part] }];
  }
  const name = typeof role === 'string' ? role : usualRole;
  const parts: Part[] = [
    ...(typeof reasoning_content === 'string' ? [{ kind: 'thought', text: reasoning_content } as const] : []),
    ...listOf(content).map((each) =>
      name === 'tool' ? { kind: 'result' as const, text: partOf(each).text } : partOf(each),
    ),
    ...listOf(tool_calls).map(partOf),
  ];
  return parts.length === 0 ? [] : [{ role: name, parts }];
}

function turnOf(role: string, content: unknown): Turn[] {
  const parts = listOf(content).map(partOf);
  return parts.length === 0 ? [] : [{ role, parts }];
}

function partOf(block: unknown): Part {
  if (typeof block === 'string') return { kind: 'text', text: block };
  const fields = fieldsOf(block);
  const { type, text, thinking, refusal, summary, input, output, content } = fields;
  const call = fieldsOf(fields['function'] ?? block);
  if (type === 'thinking' || type === 'reasoning')
    return { kind: 'thought', text: wordsOf(thinking ?? textsIn(summary)) };
  if (type === 'tool_result' || type === 'function_call_output')
    return { kind: 'result', text: textsIn(content ?? output) };
  if (type === 'tool_use' || type === 'function_call' || fields['function'] !== undefined)
    return { kind: 'call', text: `${wordsOf(call['name'])}(${wordsOf(call['arguments'] ?? input)})` };
  const said = text ?? refusal;
  if (typeof said === 'string') return { kind: 'text', text: said };
  return { kind: 'other', text: typeof type === 'string' ? type : 'something without a type' };
}

function textsIn(content: unknown): string {
  return listOf(content)
    .map((each) => partOf(each).text)
    .join('\n');
}

/** The new turns of a request: clients send the whole conversation again each time. */
export function newTurns(before: readonly Turn[], turns: readonly Turn[]): readonly Turn[] {
  let known = 0;
  while (known < before.length && known < turns.length && isSame(before[known], turns[known])) known += 1;
  return known === 0 ? turns : turns.slice(known);
}

function isSame(one: Turn | undefined, other: Turn | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
