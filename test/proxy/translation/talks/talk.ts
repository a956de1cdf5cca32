// Conversations that clients may have, in no format's words: what is said, and what is asked for, as arbitraries of fast-check. Each text holds a
// word of its own (`w12w`), so that it is found again wherever a format puts it.
import * as fc from 'fast-check';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import { anyCharacter } from '../../../support/arbitrary.ts';

export type ClientName = 'chat' | 'messages' | 'responses' | 'completions';

/** What a user shows. `mark`: its bytes, or a word of its address. */
export interface Media {
  readonly kind: 'image' | 'file' | 'sound';
  readonly how: 'data' | 'url' | 'id' | 'text';
  readonly mark: string;
}

export interface Call {
  readonly id: string;
  /** Number of the tool. */
  readonly tool: number;
  readonly input: JsonObject;
  readonly result: string;
  /** An image that the tool gave beside its words. */
  readonly shown?: string | undefined;
  readonly isError: boolean;
}

/** The user asks, the model answers and calls tools, and gets their results. */
export interface Exchange {
  readonly asked: readonly string[];
  readonly media: readonly Media[];
  /** Thoughts of the model, with the proof that the client's own format knows. */
  readonly thought?: { readonly text: string; readonly proof: string } | undefined;
  readonly answered: string;
  readonly calls: readonly Call[];
  /** The results come in another order than the calls. */
  readonly isReversed: boolean;
  /** What the user says beside the results. */
  readonly remark?: string | undefined;
  /** Instructions behind it. */
  readonly instructed?: string | undefined;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  /** It takes free text, where the client's format has such tools; its input has that text as `input`. */
  readonly isFree: boolean;
}

/** Formats of OpenAI have tools that take free text. */
export function isFreeFor(client: ClientName, { isFree }: Tool): boolean {
  return isFree && (client === 'chat' || client === 'responses');
}

/** What is asked for; undefined: nothing is said of it. */
export interface Settings {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly seed?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly logitBias?: JsonObject | undefined;
  readonly logprobs?: boolean | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly maxTokens?: number | undefined;
  readonly effort?: string | undefined;
  readonly budget?: number | undefined;
  readonly choice?: 'auto' | 'none' | 'required' | 'tool' | undefined;
  readonly parallel?: boolean | undefined;
  readonly format?: 'text' | 'json' | 'schema' | undefined;
  readonly verbosity?: string | undefined;
  readonly user?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly tier?: string | undefined;
  /** A member that no format knows. */
  readonly own?: string | undefined;
}

export interface Talk {
  readonly system: readonly string[];
  readonly exchanges: readonly Exchange[];
  readonly question: string;
  /** How the answer shall begin. */
  readonly begun?: string | undefined;
  readonly tools: readonly Tool[];
  readonly settings: Settings;
  /** Prompts up to here may be cached: instructions, the last tool, the question. */
  readonly isMarked: boolean;
  readonly stream: boolean;
}

/** Stands for a word of its own until the whole conversation is made. */
const hole = '@@';
const noise = fc.string({
  maxLength: 5,
  unit: fc.oneof(
    anyCharacter,
    fc.constantFrom('a', ' ', '\n', '"', '\\', '{', '</', 'e\u0301', '👨‍👩‍👧', '\u2028', '\0'),
  ),
});
/** Words between anything else. */
export const words = fc
  .tuple(noise, noise)
  .map(([before, behind]) => before.replaceAll('@', '') + hole + behind.replaceAll('@', ''));
const own = fc.constant(hole);
/** Words, or a text that says nothing. */
const anyText = fc.oneof({ weight: 8, arbitrary: words }, { weight: 1, arbitrary: fc.constantFrom('', ' ', '\n\n') });

/** What a tool is called with. */
export const input = fc
  .dictionary(
    fc.constantFrom('a', 'city', '$ref', 'type', 'naïve key', '__proto__x'),
    fc.oneof(words, fc.integer(), fc.boolean(), fc.constant(null), fc.array(words, { maxLength: 2 })),
    { maxKeys: 3 },
  )
  .map((given) => given as JsonObject);

const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined, freq: 2 });
/** Seldom. */
const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => {
  return fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
};

const media: fc.Arbitrary<Media> = fc.record({
  kind: fc.constantFrom('image', 'image', 'file', 'sound'),
  how: fc.constantFrom('data', 'data', 'url', 'id', 'text'),
  mark: own,
});

/** Ids that are one and the same where only letters, digits and underscores are taken. */
const alike: readonly string[] = ['call.a', 'call/a', 'call_a'];

const call = (tools: number): fc.Arbitrary<Call> =>
  fc.record({
    id: fc.constantFrom(`call_${hole}`, `toolu_${hole}`, `functions.f:${hole}`, `call/${hole}|fc_${hole}`, ...alike),
    tool: fc.nat(tools - 1),
    input,
    result: fc.oneof(words, anyText, fc.constant(`{"$ref":"#/a","${hole}":1}`), fc.constant(`[${hole}]`)),
    shown: rarely(own),
    isError: fc.boolean(),
  });

const exchange = (tools: number): fc.Arbitrary<Exchange> =>
  fc.record({
    asked: fc.array(anyText, { minLength: 1, maxLength: 2 }),
    media: fc.array(media, { maxLength: 2 }),
    thought: maybe(fc.record({ text: words, proof: own })),
    answered: fc.oneof(anyText, fc.constant('')),
    calls: tools === 0 ? fc.constant([]) : fc.array(call(tools), { maxLength: 3 }),
    isReversed: fc.boolean(),
    remark: rarely(words),
    instructed: rarely(words),
  });

const names = [
  'get_weather',
  'f',
  'a-b',
  'mcp.server.search',
  'mcp__a_server_with_a_name__and_a_tool_whose_name_is_longer_than_64_characters',
  'mcp__a_server_with_a_name__and_a_tool_whose_name_is_longer_than_64_letters',
];
const schemas: readonly JsonObject[] = [
  { type: 'object', properties: {} },
  {
    type: 'object',
    properties: { city: { type: 'string', minLength: 1 } },
    required: ['city'],
    additionalProperties: false,
  },
  { type: 'object', properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] } } },
  { properties: { a: { type: 'integer', minimum: 0 } } },
];

const tools = fc.uniqueArray(fc.constantFrom(...names), { maxLength: 3 }).chain((chosen) =>
  fc.tuple(
    ...chosen.map((name) =>
      fc.record<Tool>({
        name: fc.constant(name),
        description: words,
        schema: fc.constantFrom(...schemas),
        isFree: rarely(fc.constant(true)).map(Boolean),
      }),
    ),
  ),
);

const settings: fc.Arbitrary<Settings> = fc.record({
  temperature: rarely(fc.constantFrom(0, 0.3, 1, 1.7)),
  topP: rarely(fc.constantFrom(0.4, 0.97, 1)),
  topK: rarely(fc.integer({ min: 1, max: 50 })),
  seed: rarely(fc.constantFrom(7, 2 ** 40)),
  presencePenalty: rarely(fc.constantFrom(0, 0.5)),
  frequencyPenalty: rarely(fc.constantFrom(0, 0.5)),
  logitBias: rarely(fc.constant({ 50256: -100 })),
  logprobs: rarely(fc.boolean()),
  stop: rarely(fc.array(fc.oneof(words, fc.constant(' ')), { minLength: 1, maxLength: 6 })),
  maxTokens: maybe(fc.constantFrom(1, 20, 800, 1500, 9000, 64_000)),
  effort: rarely(fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh')),
  budget: rarely(fc.constantFrom(1024, 5000, 30_000)),
  choice: maybe(fc.constantFrom('auto', 'none', 'required', 'tool')),
  parallel: rarely(fc.boolean()),
  format: rarely(fc.constantFrom('text', 'json', 'schema')),
  verbosity: rarely(fc.constantFrom('low', 'high')),
  user: rarely(own),
  metadata: rarely(fc.constant({ note: hole })),
  tier: rarely(fc.constantFrom('auto', 'default', 'flex')),
  own: rarely(own),
});

/** Numbers what has a word of its own. `letter`: words of a conversation and of an answer differ. */
export function numbered<T>(given: T, letter: string): T {
  let count = 0;
  const text = JSON.stringify(given).replaceAll(hole, () => {
    count += 1;
    return letter + count + letter;
  });
  return JSON.parse(text) as T;
}

/** The same with ids of which each stands for one call. */
function withIds(given: Talk): Talk {
  const taken = new Set<string>();
  const fresh = (id: string): string => {
    const free = alike.includes(id) ? alike.find((each) => !taken.has(each)) : id;
    const chosen = taken.has(id) ? (free ?? `call_${taken.size}`) : id;
    taken.add(chosen);
    return chosen;
  };
  const exchanges = given.exchanges.map((each) => ({
    ...each,
    calls: each.calls.map((said) => ({ ...said, id: fresh(said.id) })),
  }));
  return { ...given, exchanges };
}

export const talk: fc.Arbitrary<Talk> = tools
  .chain((offered) =>
    fc.record<Talk>({
      system: fc.array(anyText, { maxLength: 2 }),
      exchanges: fc.array(exchange(offered.length), { maxLength: 3 }),
      question: words,
      begun: rarely(words),
      tools: fc.constant(offered),
      settings,
      isMarked: fc.boolean(),
      stream: fc.boolean(),
    }),
  )
  .map((said) => withIds(numbered(said, 'w')));
