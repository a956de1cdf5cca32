// The members of a request that say nothing about its answer, and those that make an answer one that no other request may get.
import type { Operation } from '../dialects/dialect.ts';

const stream = ['stream', 'stream_options'];
/** The model is in the key as a name. Who asks, and how providers are to remember the prompt, changes no answer. */
const asker = ['user', 'safety_identifier', 'metadata', 'prompt_cache_key', 'prompt_cache_retention', 'store'];
const chat = ['model', ...stream, ...asker];

/** The members that are left out of the key. An answer of Responses repeats all but these. */
const leftOut: Readonly<Partial<Record<Operation, readonly string[]>>> = {
  chat,
  chat_of_input: chat,
  completions: chat,
  messages: ['model', 'stream', 'metadata'],
  responses: ['model', ...stream],
  embeddings: ['model', 'user'],
};

/** Not null, false or absent: the provider keeps something that the answer goes on from, or has it made later. */
const stateful = ['conversation', 'background', 'container', 'previous_response_id', 'store'];
/** They are looked at: how many answers are wanted, and whether they are the same each time. */
const watched = ['n', 'temperature', 'seed'];

/** The effect of a member on the key of an answer. */
export type Bearing = 'content' | 'left_out' | 'stateful' | 'n' | 'temperature' | 'seed';

interface Known {
  readonly name: string;
  readonly bearing: Bearing;
}

function knownIn(operation: Operation): readonly (readonly Known[])[] {
  const named = [
    ...stateful.map((name): Known => ({ name, bearing: 'stateful' })),
    ...watched.map((name): Known => ({ name, bearing: name as Bearing })),
    ...(leftOut[operation] ?? []).map((name): Known => ({ name, bearing: 'left_out' })),
  ];
  const longest = Math.max(...named.map(({ name }) => name.length));
  return Array.from({ length: longest + 1 }, (_, length) => named.filter(({ name }) => name.length === length));
}

const operations = Object.keys(leftOut) as Operation[];
/** By operation and length of the name. */
export const bearings = new Map(operations.map((operation) => [operation, knownIn(operation)]));
