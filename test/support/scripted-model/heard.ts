// What a provider understood of a request, in no dialect's words, and the rules that all of them have in common.
import { must } from './checks.ts';

export type HeardPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'image'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly kind: 'result'; readonly id: string; readonly output: string }
  /** `signature`: the provider's proof that it thought this; empty: there is none. */
  | { readonly kind: 'thought'; readonly text: string; readonly signature: string };

export interface HeardTurn {
  readonly role: 'user' | 'assistant';
  readonly parts: readonly HeardPart[];
}

/** A request as a provider understood it. */
export interface Heard {
  readonly model: string;
  readonly stream: boolean;
  readonly system: string;
  readonly turns: readonly HeardTurn[];
  /** Names of tools; those of a namespace have it before a dot. */
  readonly tools: readonly string[];
  /** Of tools that are no functions: how their calls are written. Only Responses has them. */
  readonly toolForms?: ReadonlyMap<string, 'custom' | 'tool_search'>;
  /** An answer in a form was asked for. */
  readonly hasSchema: boolean;
  readonly thinks: boolean;
  /** The stream is to tell what it cost. */
  readonly tellsUsage: boolean;
  /** Thoughts are to come with their proof. */
  readonly tellsSignature: boolean;
}

/** Turns of one speaker that follow one another as one. */
export function joinTurns(turns: readonly HeardTurn[]): readonly HeardTurn[] {
  const joined: { readonly role: HeardTurn['role']; readonly parts: HeardPart[] }[] = [];
  for (const { role, parts } of turns) {
    const last = joined.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else joined.push({ role, parts: [...parts] });
  }
  return joined;
}

/** Every call is answered in the turn behind it, and every result answers a call of the turn before it. */
export function checkCalls(turns: readonly HeardTurn[]): void {
  const idsOf = (turn: HeardTurn | undefined, kind: 'call' | 'result'): string[] =>
    turn?.parts.flatMap((part) => (part.kind === kind ? [part.id] : [])) ?? [];
  for (const [index, turn] of turns.entries()) {
    const calls = idsOf(turn, 'call');
    const answered = new Set(idsOf(turns[index + 1], 'result'));
    must(new Set(calls).size === calls.length, 'two calls of one turn have the same id');
    const open = calls.filter((id) => !answered.has(id));
    must(open.length === 0, `calls without a result in the next turn: ${open.join(', ')}`);
    const before = new Set(idsOf(turns[index - 1], 'call'));
    const stray = idsOf(turn, 'result').filter((id) => !before.has(id));
    must(stray.length === 0, `results without a call in the turn before: ${stray.join(', ')}`);
  }
}

/** The last speaker is the user, who says something. */
export function checkEnds(turns: readonly HeardTurn[]): void {
  must(turns[0]?.role === 'user', 'the first turn must be the user’s');
  must(turns.at(-1)?.role === 'user', 'the last turn must be the user’s');
}

/** Anthropic's models go on thinking only behind thoughts that they signed. */
export function checkThoughtsBeforeCalls({ thinks, turns }: Pick<Heard, 'thinks' | 'turns'>): void {
  const hasResults = turns.at(-1)?.parts.some(({ kind }) => kind === 'result') === true;
  if (!thinks || !hasResults) return;
  const said = turns.findLast(({ role }) => role === 'assistant');
  must(said?.parts[0]?.kind === 'thought', 'expected `thinking` first in the last turn of the assistant');
}
