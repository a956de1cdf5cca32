// The task of two turns that every agent does: what the user says, what the scripted model lets the agent do, and what must be there in the end.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from '../support/scripted-model/checks.ts';
import type { Heard, HeardTurn } from '../support/scripted-model/heard.ts';
import { type Call, type Saying, say } from '../support/scripted-model/scenarios.ts';

/** What the user says. */
export const words = {
  first: 'Do the first task: write first.txt, and note it in the ledger.',
  second:
    'Do the second task: read first.txt, ask the ledger, and write second.txt with the receipt of the first task.',
} as const;

/** Known to the ledger alone, different in each run. */
export interface Secrets {
  readonly receipt: string;
  readonly memory: string;
}

export const firstText = 'Grüße aus Zürich, 世界 🌍';
const noted = 'first.txt is written';

/** How a model uses the tools of one agent. Each gives the calls that are made at once; `heard`: what the agent offers. */
export interface Hands {
  /** Before anything else, when these tools are not offered yet. */
  readonly search?: (heard: Heard) => readonly Call[];
  readonly writeAndNote: (heard: Heard, at: Files, text: string) => readonly Call[];
  readonly readAndRecall: (heard: Heard, at: Files) => readonly Call[];
  readonly write: (heard: Heard, at: Files, text: string) => readonly Call[];
}

/** Paths of the two files. */
export interface Files {
  readonly first: string;
  readonly second: string;
}

export const filesIn = (folder: string): Files => ({
  first: join(folder, 'first.txt'),
  second: join(folder, 'second.txt'),
});

/** The tool whose last word is this one, under the name that the agent or the gateway gives it. */
export function toolNamed(heard: Heard, word: string): string {
  const found = heard.tools.find((name) => name === word || new RegExp(`[._]${word}$`).test(name));
  must(found !== undefined, `no tool ${word} among ${heard.tools.join(', ')}`);
  return found;
}

/** The calls of the tools of the ledger. */
export const noteCall = (heard: Heard): Call => ({ name: toolNamed(heard, 'note'), input: { text: noted } });
export const recallCall = (heard: Heard): Call => ({ name: toolNamed(heard, 'recall'), input: {} });

/** What the model says to an agent that has these hands. Throws a Refused when the conversation is not what it was. */
export function modelFor(hands: Hands, files: Files): (heard: Heard) => Saying {
  return (heard) => {
    const asked = askedAt(heard.turns);
    // A title or a summary is asked for.
    if (asked === -1 || heard.tools.length === 0) return say({ text: 'Two tasks' });
    const before = heard.turns.slice(0, asked);
    const since = heard.turns.slice(asked + 1);
    const isSecond = turnText(heard.turns[asked]).includes('Do the second task');
    const isSearch = (turn: HeardTurn): boolean =>
      turn.parts.some((part) => part.kind === 'call' && /search$/i.test(part.name));
    const step = since.filter((turn) => turn.role === 'assistant' && !isSearch(turn)).length;
    const wants = hands.search?.(heard) ?? [];
    if (step === 0 && !isSecond && wants.length > 0 && !since.some(isSearch)) return act(heard, wants);
    if (!isSecond) return step === 0 ? act(heard, hands.writeAndNote(heard, files, firstText)) : firstWords(since);
    if (step === 0) return act(heard, hands.readAndRecall(heard, files));
    const text = `${secretIn(outputsOf(before), 'receipt')} ${secretIn(outputsOf(since), 'memory')}`;
    must(outputsOf(since).includes(firstText), 'the result of reading first.txt is not its content');
    return step === 1 ? act(heard, hands.write(heard, files, text)) : say({ text: `It is written: ${text}` });
  };
}

function act(heard: Heard, calls: readonly Call[]): Saying {
  return say({ thought: heard.thinks ? 'They want it done.\nThere are tools for that.' : '', text: 'I begin.', calls });
}

function firstWords(since: readonly HeardTurn[]): Saying {
  return say({ text: `The first task is done, with ${secretIn(outputsOf(since), 'receipt')}.` });
}

/** What tools gave. */
function outputsOf(turns: readonly HeardTurn[]): string {
  return turns.flatMap(({ parts }) => parts.map((part) => (part.kind === 'result' ? part.output : ''))).join('\n');
}

/** The secret of this kind in a text. */
export function secretIn(text: string, kind: keyof Secrets): string {
  const [found] = new RegExp(`${kind}-[0-9a-f-]{36}`).exec(text) ?? [];
  must(found !== undefined, `the ${kind} of the ledger is not there`);
  return found;
}

/** Where the user asked for the last task; -1: nowhere. */
export function askedAt(turns: readonly HeardTurn[]): number {
  return turns.findLastIndex((turn) => turn.role === 'user' && /Do the (first|second) task/.test(turnText(turn)));
}

export function turnText(turn: HeardTurn | undefined): string {
  return turn?.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('\n') ?? '';
}

/** What an agent left behind. */
export interface Traces {
  readonly folder: string;
  /** Of the ledger; undefined: the agent cannot use one. */
  readonly log: string | undefined;
  /** What the agent printed in the second turn. */
  readonly printed: string;
}

/** What is not as it must be in the end, a sentence each. */
export function faultsOf({ folder, log, printed }: Traces, { receipt, memory }: Secrets): readonly string[] {
  const last = `${receipt} ${memory}`;
  const at = filesIn(folder);
  const calls = log === undefined ? undefined : textAt(log).split('\n').filter(Boolean);
  const called = [{ name: 'note', text: noted }, { name: 'recall' }].map((call) => JSON.stringify(call));
  return [
    ...different('first.txt', textAt(at.first).trim(), firstText),
    ...different('second.txt', textAt(at.second).trim(), last),
    ...(calls === undefined ? [] : different('the log of the ledger', calls.join(' '), called.join(' '))),
    ...(printed.includes(last) ? [] : [`the last words are not there: ${JSON.stringify(printed.slice(-300))}`]),
  ];
}

function different(what: string, seen: string, right: string): readonly string[] {
  return seen === right ? [] : [`${what} is ${JSON.stringify(seen)}, not ${JSON.stringify(right)}`];
}

const textAt = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
