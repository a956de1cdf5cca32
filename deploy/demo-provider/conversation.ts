// One form for what the three dialects ask: the demo model reads this and nothing else.
import type { Media } from './media/media.ts';

export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | Media
  | { readonly kind: 'call'; readonly id: string; readonly name: string }
  | {
      readonly kind: 'result';
      readonly callId: string;
      readonly content: readonly Part[];
      readonly isError: boolean;
    };

export type Turn = { readonly role: 'system' | 'user' | 'assistant'; readonly parts: readonly Part[] };

/** A tool that the caller runs. `schema` is the JSON Schema of its input; a tool for free text has none. */
export type Tool = { readonly name: string; readonly schema: unknown; readonly isFreeText: boolean };

/** `names`: only these may be called; undefined: all of them. */
export type ToolChoice = {
  readonly mode: 'auto' | 'none' | 'required';
  readonly names?: readonly string[] | undefined;
};

/** The form of the answer's text: words, any JSON object, or an instance of a JSON Schema. */
export type Output =
  | { readonly kind: 'text' }
  | { readonly kind: 'json' }
  | { readonly kind: 'schema'; readonly schema: unknown };

export type Conversation = {
  readonly model: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  /** Several tools may be called at once. */
  readonly isParallel: boolean;
  readonly output: Output;
  /** The answer begins with thoughts. */
  readonly thinks: boolean;
  /** Most tokens of the answer, thoughts included. */
  readonly limit: number;
  readonly stop: readonly string[];
};

/** The words of parts: texts, joined by spaces. */
export function wordsIn(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join(' ');
}

/** The last turn of the user that has words; results of tools are none. */
export function lastQuestion(turns: readonly Turn[]): string {
  const asked = turns.findLast(({ role, parts }) => role === 'user' && parts.some(({ kind }) => kind !== 'result'));
  return wordsIn((asked ?? turns.at(-1))?.parts ?? []);
}

/** A call without a result, or a result without a call; `turn` is the index of the turn that has it. */
export type BrokenPair = { readonly kind: 'call' | 'result'; readonly id: string; readonly turn: number };

/** The first call that no later turn answers, or the first result that no earlier turn asked for. */
export function findBrokenPair(turns: readonly Turn[]): BrokenPair | undefined {
  const open = new Map<string, number>();
  const known = new Set<string>();
  for (const [turn, { parts }] of turns.entries()) {
    for (const part of parts) {
      if (part.kind === 'call') {
        open.set(part.id, turn);
        known.add(part.id);
      } else if (part.kind === 'result') {
        if (!known.has(part.callId)) return { kind: 'result', id: part.callId, turn };
        open.delete(part.callId);
      }
    }
  }
  const [first] = open;
  return first && { kind: 'call', id: first[0], turn: first[1] };
}
