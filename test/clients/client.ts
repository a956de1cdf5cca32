// What the tests need of a client: a conversation in the words of its own package, and what the package shows of each answer.
import type { Usage } from '../support/scripted-model/scenarios.ts';

export { forcedAnswer, image } from '../support/scripted-model/scenarios.ts';

/** Where a client connects, with which key, and for which model. */
export interface ClientAccess {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

export interface ShownCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** An answer as the client's types show it. */
export interface Reply {
  readonly text: string;
  readonly thought: string;
  readonly calls: readonly ShownCall[];
  readonly finish: string;
  readonly usage: Usage;
}

/** How an answer is asked for. */
export interface How {
  readonly stream: boolean;
  readonly tools: boolean;
  readonly form: boolean;
  readonly thinks: boolean;
  readonly signal: AbortSignal;
  /** Called with each piece of text of a stream. */
  readonly onText: () => void;
}

export interface Conversation {
  /** `picture`: PNG in Base64. */
  hear(text: string, picture?: string): void;
  give(call: ShownCall, output: string): void;
  /** Asks, and adds the answer to the conversation as the client's documentation says. */
  ask(how: How): Promise<Reply>;
}

export interface Client {
  /** As the table of the documentation names it. */
  readonly name: string;
  readonly packages: readonly string[];
  readonly model: 'gpt-5' | 'claude-opus-4-5';
  readonly finishes: { readonly stop: string; readonly calls: string };
  /** The class and status of what is thrown when the provider is asked too often. */
  readonly limited: { readonly name: string; readonly status: number };
  /** The types of the client tell how many tokens were thoughts. */
  readonly countsThoughts: boolean;
  begin(place: ClientAccess, system: string): Conversation;
}

const weather = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const, description: 'Name of a town.' }, days: { type: 'number' as const } },
  required: ['city', 'days'] as string[],
  additionalProperties: false,
};

const time = {
  type: 'object' as const,
  properties: { zone: { type: 'string' as const } },
  required: ['zone'] as string[],
  additionalProperties: false,
};

/** The tools that are offered, with their schemas. */
export const offered = [
  { name: 'get_weather', description: 'Tells the weather of a town.', schema: weather },
  { name: 'get_time', description: 'Tells the time.', schema: time },
] as const;

/** The schema of a forced answer. */
export const form = {
  type: 'object' as const,
  properties: {
    city: { type: 'string' as const },
    degrees: { type: 'number' as const },
    isSunny: { type: 'boolean' as const },
  },
  required: ['city', 'degrees', 'isSunny'] as string[],
  additionalProperties: false,
};

/** Room for thoughts and an answer. */
export const maxTokens = 8000;
export const thinkingBudget = 4000;
