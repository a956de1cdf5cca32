// What a client cannot do with a provider, each with its reason. The tests check that exactly this is missing, and nothing else.
import type { Client } from './client.ts';
import type { TriedProvider } from './providers.ts';
import type { Difference } from './talks.ts';

export interface Exception {
  /** Beginnings of names of clients. */
  readonly clients: readonly string[];
  readonly providers: readonly TriedProvider['wire']['name'][];
  readonly talks: readonly string[];
  /** What is not as elsewhere. */
  readonly facts: readonly string[];
  readonly because: string;
}

const everyone = ['chat', 'responses', 'messages', 'gemini', 'bedrock'] as const;
const thinking = ['thinking', 'thinking, streamed'] as const;
const streamedTwice = ['tools round trip, streamed', 'parallel tools, streamed', 'thinking, streamed'] as const;

/** A client that reads the usage of streams in its own way. */
function usageOfStreams(providers: Exception['providers'], because: string): readonly Exception[] {
  const shared = { clients: ['@langchain/anthropic'], providers, because };
  return [
    { ...shared, talks: ['streamed'], facts: ['usage'] },
    { ...shared, talks: streamedTwice, facts: ['usage', 'usage of the next answer'] },
  ];
}

export const exceptions: readonly Exception[] = [
  {
    clients: ['ai, OpenAI chat'],
    providers: everyone,
    talks: thinking,
    facts: ['thought'],
    because: 'The client does not show the thoughts of chat completions.',
  },
  {
    clients: ['ai, OpenAI chat', '@langchain/openai, chat'],
    providers: ['responses', 'messages', 'gemini', 'bedrock'],
    talks: thinking,
    facts: ['proof of thoughts comes back'],
    because:
      'The client does not send `extra_content` back, so after the call of a tool the model goes on without its thoughts.',
  },
  ...usageOfStreams(
    ['chat', 'responses', 'bedrock'],
    'In streams, the client reads the tokens of the prompt at the beginning, where the provider has not told them, and shows 0.',
  ),
  ...usageOfStreams(
    ['messages'],
    'In streams, the client adds the first count of the tokens of the answer to the last one, which includes it.',
  ),
];

/** Those that say something of the pair. */
export function exceptionsOf(client: Client, provider: TriedProvider): readonly Exception[] {
  return exceptions.filter(({ clients, providers }) => {
    return clients.some((name) => client.name.startsWith(name)) && providers.includes(provider.wire.name);
  });
}

/** What was found that is not listed, and what is listed and was not found: a sentence each. */
export function unexpected(found: readonly Difference[], listed: readonly Exception[]): readonly string[] {
  const expected = new Set(listed.flatMap(({ talks, facts }) => talks.flatMap((talk) => facts.map(nameOf(talk)))));
  const names = found.map(({ talk, fact }) => nameOf(talk)(fact));
  const surprises = found.filter((_, index) => !expected.has(names[index] ?? ''));
  return [
    ...surprises.map(({ talk, fact, seen, expected: right }) => {
      return `${nameOf(talk)(fact)} is ${JSON.stringify(seen)} instead of ${JSON.stringify(right)}`;
    }),
    ...[...expected].filter((name) => !names.includes(name)).map((name) => `${name} is as it must be, but listed`),
  ];
}

function nameOf(talk: string): (fact: string) => string {
  return (fact) => `${talk}: ${fact}`;
}
