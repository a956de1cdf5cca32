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

export const exceptions: readonly Exception[] = [
  {
    clients: ['ai, OpenAI chat'],
    providers: everyone,
    talks: ['thinking', 'thinking, streamed'],
    facts: ['thought'],
    because: 'the client does not show thoughts of chat completions',
  },
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
