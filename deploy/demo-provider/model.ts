// The script behind the three dialects: reads a conversation and decides, always in the same way, what to answer.
import { composeAnswer, countTurnTokens, quoteResults, shorten, tokenise } from './answers.ts';
import { type Conversation, lastQuestion, type Part, type Tool } from './conversation.ts';
import { instanceOf, type Material, materialOf } from './schema.ts';

/** A part of the answer, in the tokens in which it is streamed. A thought or a text is none, when it has no tokens. */
export type Said =
  | { readonly kind: 'thought'; readonly tokens: readonly string[] }
  | { readonly kind: 'text'; readonly tokens: readonly string[] }
  | {
      readonly kind: 'call';
      readonly tokens: readonly string[];
      readonly name: string;
      readonly isFreeText: boolean;
    };

export type Usage = { readonly input: number; readonly output: number; readonly thoughts: number };

export type Answer = {
  readonly model: string;
  readonly said: readonly Said[];
  readonly finish: 'stop' | 'stop_sequence' | 'length' | 'calls';
  /** The text of `stop` that ended the answer. */
  readonly stopSequence: string | null;
  readonly usage: Usage;
};

/** The text of a part of an answer. */
export function joinTokens({ tokens }: Said): string {
  return tokens.join('');
}

/** Tokens of the request: its turns and the tools it offers. */
export function countInput({ turns, tools }: Conversation): number {
  return countTurnTokens(turns) + (tools.length === 0 ? 0 : tokenise(JSON.stringify(tools)).length);
}

/** The answer to a conversation. */
export function answer(conversation: Conversation): Answer {
  const { model, stop, limit } = conversation;
  const calls = decideCalls(conversation);
  const whole = calls.length > 0 ? calls : [say('text', composeText(conversation))];
  const thoughts = conversation.thinks ? [say('thought', think(conversation, calls))] : [];
  const stopped = applyStop([...thoughts, ...whole], stop);
  const said = applyLimit(stopped.said, limit);
  const isCut = countTokens(said) < countTokens(stopped.said);
  const stopSequence = isCut ? null : stopped.sequence;
  const ended = stopSequence !== null ? 'stop_sequence' : calls.length > 0 ? 'calls' : 'stop';
  const usage = {
    input: countInput(conversation),
    output: countTokens(said),
    thoughts: countTokens(said.filter(({ kind }) => kind === 'thought')),
  };
  return { model, said, finish: isCut ? 'length' : ended, stopSequence, usage };
}

/** The calls of tools: those that the last words of the user name, and one that is forced. */
function decideCalls({ turns, tools, toolChoice, isParallel }: Conversation): Said[] {
  const last = turns.at(-1);
  if (last?.role !== 'user' || last.parts.some(({ kind }) => kind === 'result')) return [];
  const { mode, names } = toolChoice;
  const allowed = mode === 'none' ? [] : tools.filter(({ name }) => names?.includes(name) ?? true);
  const question = lastQuestion(turns);
  const named = allowed.filter(({ name }) => isNamed(name, question));
  const called = named.length === 0 && mode === 'required' ? allowed.slice(0, 1) : named;
  const material = materialOf(question, tools.flatMap(spellings));
  return (isParallel ? called : called.slice(0, 1)).map((tool) => call(tool, question, material));
}

function call({ name, schema, isFreeText }: Tool, question: string, material: Material): Said {
  const input = isFreeText ? question : JSON.stringify(instanceOf(schema ?? { type: 'object' }, material));
  return { kind: 'call', tokens: tokenise(input), name, isFreeText };
}

/** `get_weather` is named by itself and by “get weather”, in any case. */
function isNamed(name: string, text: string): boolean {
  const words = (value: string): string =>
    ` ${value
      .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, ' ')
      .trim()} `;
  return words(text).includes(words(name));
}

function spellings({ name }: Tool): string[] {
  return [name, name.replaceAll('_', ' ')];
}

function composeText(conversation: Conversation): string {
  const { model, turns, output, tools } = conversation;
  if (output.kind === 'schema') {
    const material = materialOf(lastQuestion(turns), tools.flatMap(spellings));
    return JSON.stringify(instanceOf(output.schema, material));
  }
  const results = openResults(conversation);
  const calls = turns.flatMap(({ parts }) => parts).filter((part) => part.kind === 'call');
  const names = new Map(calls.map(({ id, name }) => [id, name]));
  const text = results.length > 0 ? quoteResults(results, names) : composeAnswer(model, turns);
  return output.kind === 'json' ? JSON.stringify({ answer: text }) : text;
}

/** The results that came after the last words of the model. */
function openResults({ turns }: Conversation): Part[] {
  const from = turns.findLastIndex(({ role }) => role === 'assistant') + 1;
  const parts = turns.slice(from).flatMap((turn) => turn.parts);
  const isLast = turns.at(-1)?.parts.some(({ kind }) => kind === 'result') === true;
  return isLast ? parts.filter(({ kind }) => kind === 'result') : [];
}

function think(conversation: Conversation, calls: readonly Said[]): string {
  const question = `The user says “${shorten(lastQuestion(conversation.turns), 80)}”.`;
  if (openResults(conversation).length > 0) return `${question} The tools have answered; I say what they said.`;
  const names = calls.flatMap((said) => (said.kind === 'call' ? [said.name] : []));
  if (names.length > 0) return `${question} I need ${names.join(' and ')} for that.`;
  return `${question} I say it back and add who I am.`;
}

function say(kind: 'thought' | 'text', text: string): Said {
  return { kind, tokens: tokenise(text) };
}

function countTokens(said: readonly Said[]): number {
  return said.reduce((sum, { tokens }) => sum + tokens.length, 0);
}

/** Ends the first text that contains one of `stop` before it; what would follow is not said. */
function applyStop(said: readonly Said[], stop: readonly string[]): { said: readonly Said[]; sequence: string | null } {
  for (const [index, part] of said.entries()) {
    const text = part.kind === 'text' ? joinTokens(part) : '';
    const found = stop
      .map((sequence) => ({ sequence, at: text.indexOf(sequence) }))
      .filter(({ at }) => at >= 0)
      .sort((one, other) => one.at - other.at)[0];
    if (found)
      return { said: [...said.slice(0, index), say('text', text.slice(0, found.at))], sequence: found.sequence };
  }
  return { said, sequence: null };
}

function applyLimit(said: readonly Said[], limit: number): Said[] {
  let left = limit;
  const kept = said.map((part): Said => {
    const tokens = part.tokens.slice(0, left);
    left -= tokens.length;
    return { ...part, tokens };
  });
  return kept.filter(({ tokens }) => tokens.length > 0);
}
