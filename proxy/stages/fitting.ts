// Which targets have room for a prompt: one whose context window is surely too small is passed over while another one is left.
import { spells } from '../bytes/spells.ts';
import type { Call } from '../call/call.ts';
import type { Operation } from '../dialects/dialect.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import { fewestTokens, leastTokenBytes } from '../tokens/fewest-tokens.ts';
import { askedOutput } from '../tokens/output-bound.ts';
import { partOf } from './route-part.ts';

/** The operations whose prompt is one conversation. */
const conversing: ReadonlySet<Operation> = new Set(['chat', 'chat_of_input', 'responses', 'messages'] as const);
/** Provider types that refuse a request whose prompt and longest answer are together longer than the window (vLLM: "'max_tokens' is too large"). */
const countingAnswers: ReadonlySet<string> = new Set(['vllm']);
/** Members with which a provider shortens a prompt that is too long: those of Responses, Messages, vLLM, Fireworks, OpenRouter. */
const shortening = [
  'truncation',
  'context_management',
  'truncate_prompt_tokens',
  'prompt_truncate_len',
  'transforms',
  'plugins',
];

/** The room that a request needs, in tokens. */
export interface NeededRoom {
  /** A prompt has no more than this of `fewest`; it costs nothing to know. */
  readonly most: number;
  /** The fewest that the prompt can be. */
  readonly fewest: number;
  /** Of the answer that is asked for; 0: it is not bounded. */
  readonly answer: number;
}

/** The part of a route with the targets that have room for the call; the whole route when none has. */
export function fitting(route: Route, call: Call, operation: Operation): Route {
  if (route.targets.length < 2) return route;
  const needed = neededRoom(call, operation);
  return needed === undefined ? route : roomyPart(route, needed);
}

/** The part of a route with the targets that have room; the whole route when none has. */
export function roomyPart(route: Route, needed: NeededRoom): Route {
  return partOf(route, (target) => !isTooSmall(target, needed)) ?? route;
}

/** Undefined: the size of the prompt decides nothing. */
export function neededRoom(call: Pick<Call, 'body' | 'members'>, operation: Operation): NeededRoom | undefined {
  return conversing.has(operation) ? new CalledRoom(call) : undefined;
}

/** Each figure is worked out when it is first needed. */
class CalledRoom implements NeededRoom {
  readonly #call: Pick<Call, 'body' | 'members'>;
  #fewest: number | undefined;
  #answer: number | undefined;

  constructor(call: Pick<Call, 'body' | 'members'>) {
    this.#call = call;
  }

  get most(): number {
    return this.#call.body.length / leastTokenBytes;
  }

  get fewest(): number {
    this.#fewest ??= isShortened(this.#call) ? 0 : fewestTokens(this.#call.body);
    return this.#fewest;
  }

  get answer(): number {
    this.#answer ??= askedOutput(this.#call.body, this.#call.members).mostTokens ?? 0;
    return this.#answer;
  }
}

function isTooSmall({ facts, upstream }: Target, needed: NeededRoom): boolean {
  const window = facts?.context_window;
  if (window === undefined) return false;
  const answer = countingAnswers.has(upstream.type) ? needed.answer : 0;
  return needed.most + answer > window && needed.fewest + answer > window;
}

function isShortened({ body, members }: Pick<Call, 'body' | 'members'>): boolean {
  return members.some(({ keyStart, keyEnd }) =>
    shortening.some((name) => name.length === keyEnd - keyStart && spells(body, keyStart, name)),
  );
}
