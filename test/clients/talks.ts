// The conversations that every client has with every provider, and what each of them must show.
import { isDeepStrictEqual } from 'node:util';
import { runTool, type Saying, type ScenarioName, scenarios } from '../support/scripted-model/scenarios.ts';
import type { ScriptedModel, Taken } from '../support/scripted-model/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Client, type ClientAccess, type Conversation, type How, image, type Reply } from './client.ts';
import type { TriedProvider } from './providers.ts';

export interface Talk {
  /** As the table of the documentation names it. */
  readonly title: string;
  readonly scenario: ScenarioName;
  readonly stream: boolean;
  readonly ends: 'well' | 'refused' | 'broken' | 'aborted';
}

export const talks: readonly Talk[] = [
  { title: 'plain', scenario: 'say something plain', stream: false, ends: 'well' },
  { title: 'streamed', scenario: 'say something plain', stream: true, ends: 'well' },
  { title: 'tools round trip', scenario: 'use a tool', stream: false, ends: 'well' },
  { title: 'tools round trip, streamed', scenario: 'use a tool', stream: true, ends: 'well' },
  { title: 'parallel tools', scenario: 'use several tools', stream: false, ends: 'well' },
  { title: 'parallel tools, streamed', scenario: 'use several tools', stream: true, ends: 'well' },
  { title: 'structured output', scenario: 'fill the form', stream: false, ends: 'well' },
  { title: 'image', scenario: 'look at this', stream: false, ends: 'well' },
  { title: 'thinking', scenario: 'think before you call', stream: false, ends: 'well' },
  { title: 'thinking, streamed', scenario: 'think before you call', stream: true, ends: 'well' },
  { title: 'abort', scenario: 'talk on and on', stream: true, ends: 'aborted' },
  { title: 'error', scenario: 'say no', stream: false, ends: 'refused' },
  { title: 'error, streamed', scenario: 'say no', stream: true, ends: 'refused' },
  { title: 'error in a stream', scenario: 'break off', stream: true, ends: 'broken' },
];

/** Who talks to whom. */
export interface Cell {
  readonly client: Client;
  readonly provider: TriedProvider;
  readonly model: ScriptedModel;
  readonly place: ClientAccess;
}

/** Something that is not as it must be: its name, and what was seen instead. */
export interface Difference {
  readonly talk: string;
  readonly fact: string;
  readonly seen: unknown;
  readonly expected: unknown;
}

/** Most that an aborted stream may go on at the provider, in milliseconds. */
const abortedWithinMs = 8000;

/** Has the conversation. Gives what was not as it must be. */
export async function differencesOf(talk: Talk, cell: Cell): Promise<readonly Difference[]> {
  const found: Difference[] = [];
  const check: Check = (fact, seen, expected) => {
    if (!isDeepStrictEqual(seen, expected)) found.push({ talk: talk.title, fact, seen, expected });
  };
  const system = `You are brief. ${talk.title} of ${cell.client.name} with ${cell.provider.title}.`;
  const conversation = cell.client.begin(cell.place, system);
  conversation.hear(talk.scenario, talk.scenario === 'look at this' ? image : undefined);
  const requests = (): readonly Taken[] => cell.model.requests.filter(({ heard }) => heard?.system.includes(system));
  try {
    await had[talk.ends](talk, cell, { conversation, check, requests });
  } catch (error) {
    found.push({ talk: talk.title, fact: 'no exception', seen: wordsOf(error), expected: undefined });
  }
  for (const taken of requests())
    if (talk.ends !== 'refused') check('a request without a mistake', taken.refused, undefined);
  return found;
}

type Check = (fact: string, seen: unknown, expected: unknown) => void;

interface Having {
  readonly conversation: Conversation;
  readonly check: Check;
  readonly requests: () => readonly Taken[];
}

const had = { well, refused: isRefused, broken: isBroken, aborted: isAborted } as const;

async function well(talk: Talk, cell: Cell, { conversation, check, requests }: Having): Promise<void> {
  const { sayings }: { readonly sayings: readonly Saying[] } = scenarios[talk.scenario];
  const shown: string[] = [];
  for (const [step, saying] of sayings.entries()) {
    const reply = await conversation.ask(howOf(talk));
    checkReply({ saying, step, reply, cell }, check);
    shown.push(...reply.calls.map(({ id }) => id));
    if (saying.calls.length === 0) break;
    for (const call of reply.calls) conversation.give(call, runTool(call.name, call.input));
  }
  const [first, second] = requests();
  checkIds(cell, shown, second, check);
  check('requests', requests().length, sayings.length);
  check('streams', first?.heard?.stream, talk.stream);
  if (talk.scenario !== 'think before you call' || !cell.provider.signs) return;
  const parts = second?.heard?.turns.flatMap((turn) => turn.parts) ?? [];
  const isProven = cell.provider.wire.name === 'gemini' ? isOwnProof(second) : parts.some(hasProof);
  check('proof of thoughts comes back', isProven, true);
}

/** The ids that the client shows are those that the provider gave, and come back to it. Google gives none. */
function checkIds({ provider }: Cell, shown: readonly string[], taken: Taken | undefined, check: Check): void {
  check('different ids', new Set(shown).size, shown.length);
  if (provider.wire.name === 'gemini') return;
  const parts = taken?.heard?.turns.flatMap((turn) => turn.parts) ?? [];
  const back = parts.flatMap((part) => (part.kind === 'call' ? [part.id] : []));
  check('ids that come back', back, shown);
  check(
    'ids of the provider',
    shown.filter((id) => !/^(call|toolu|tooluse)_\d+x\d$/.test(id)),
    [],
  );
}

/** Google's proof stands at the call. */
function isOwnProof(taken: Taken | undefined): boolean {
  const text = JSON.stringify(taken?.received.body ?? {});
  return text.includes('thoughtSignature') && !text.includes('skip_thought_signature_validator');
}

function hasProof(part: { readonly kind: string; readonly signature?: string }): boolean {
  return part.kind === 'thought' && part.signature !== '';
}

interface Said {
  readonly saying: Saying;
  readonly step: number;
  readonly reply: Reply;
  readonly cell: Cell;
}

function checkReply({ saying, step, reply, cell: { client, provider } }: Said, check: Check): void {
  const { input, output, cached } = saying.usage;
  const thoughts = client.countsThoughts && provider.countsThoughts ? saying.usage.thoughts : 0;
  const at = step === 0 ? '' : ' of the next answer';
  check(`text${at}`, reply.text, saying.text);
  check(`thought${at}`, reply.thought, saying.thought);
  check(
    `calls${at}`,
    reply.calls.map(({ name, input: given }) => ({ name, input: given })),
    saying.calls,
  );
  check(`finish${at}`, reply.finish, saying.calls.length === 0 ? client.finishes.stop : client.finishes.calls);
  check(`usage${at}`, { ...reply.usage, thoughts: 0 }, { input, output, cached, thoughts: 0 });
  check(`tokens of thoughts${at}`, reply.usage.thoughts, thoughts);
}

async function isRefused(talk: Talk, { client }: Cell, { conversation, check, requests }: Having): Promise<void> {
  const error = await thrownBy(conversation.ask(howOf(talk)));
  const { status, statusCode } = error as { readonly status?: number; readonly statusCode?: number };
  check('class of the error', nameOf(error), client.limited.name);
  check('status of the error', status ?? statusCode, client.limited.status);
  check('words of the error', String(error?.message).includes('slow down'), true);
  check('requests', requests().length, 1);
}

async function isBroken(talk: Talk, _: Cell, { conversation, check }: Having): Promise<void> {
  const error = await thrownBy(conversation.ask(howOf(talk)));
  check('words of the error', /overloaded/.test(wordsOf(error)) || wordsOf(error), true);
}

async function isAborted(talk: Talk, _: Cell, { conversation, check, requests }: Having): Promise<void> {
  const controller = new AbortController();
  const how = { ...howOf(talk), signal: controller.signal, onText: () => controller.abort() };
  const error = await thrownBy(conversation.ask(how));
  check('an exception', error !== undefined, true);
  const left = await waitFor('the abort at the provider', () => requests()[0]?.isLeft, abortedWithinMs);
  check('the provider sees the abort', left, true);
}

function howOf({ stream, scenario }: Talk): How {
  const { needs } = scenarios[scenario] as { readonly needs: readonly string[] };
  return {
    stream,
    tools: needs.includes('tools'),
    form: needs.includes('schema'),
    thinks: needs.includes('thinking'),
    signal: new AbortController().signal,
    onText: () => {},
  };
}

async function thrownBy(asked: Promise<unknown>): Promise<Error | undefined> {
  try {
    await asked;
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function nameOf(error: Error | undefined): string | undefined {
  if (error === undefined) return undefined;
  return error.name === 'Error' ? error.constructor.name : error.name;
}

function wordsOf(error: unknown): string {
  const { message, error: body, data } = (error ?? {}) as { message?: string; error?: unknown; data?: unknown };
  return [message ?? (typeof error === 'string' ? error : ''), body, data]
    .map((value) => JSON.stringify(value) ?? '')
    .join(' ');
}
