// What the body of a request tells of a conversation, and what the writers of bodies have in common.
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import type { Call, Exchange, Media, Settings, Talk } from './talk.ts';

/** What a body tells of a conversation; a format may have no word for some of it. */
export interface Told {
  readonly instructions: readonly string[];
  /** Those in the middle, with what the user said before them. */
  readonly inner: readonly { readonly text: string; readonly before: string }[];
  readonly spoken: readonly { readonly role: 'user' | 'assistant'; readonly text: string }[];
  readonly calls: readonly Call[];
  readonly media: readonly Media[];
  readonly thoughts: readonly { readonly text: string; readonly proof: string }[];
  readonly settings: Settings;
  readonly tools: Talk['tools'];
  readonly hasMarks: boolean;
  readonly hasErrors: boolean;
}

export interface ClientBody {
  readonly body: JsonObject;
  readonly told: Told;
}

export const mark = { type: 'ephemeral' };
export const base64 = (text: string): string => Buffer.from(text).toString('base64');
export const schema = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
};

/** The body of a request. */
export function told(talk: Talk, sayable: (keyof Settings)[], change: Partial<Told> = {}): Told {
  const { exchanges, question } = talk;
  const settings = Object.fromEntries(sayable.map((key) => [key, talk.settings[key]]));
  return {
    instructions: [
      ...talk.system,
      ...exchanges.flatMap(({ instructed }) => (instructed === undefined ? [] : [instructed])),
    ].filter((text) => text.trim() !== ''),
    inner: exchanges.flatMap(({ instructed, asked }) =>
      instructed === undefined
        ? []
        : [{ text: instructed, before: asked.find((text) => text.trim() !== '') ?? instructed }],
    ),
    spoken: [
      ...exchanges.flatMap(({ asked, answered, calls, remark }) => [
        ...asked.map((text) => ({ role: 'user', text }) as const),
        { role: 'assistant', text: answered } as const,
        ...(calls.length === 0 || remark === undefined ? [] : [{ role: 'user', text: remark } as const]),
      ]),
      { role: 'user' as const, text: question },
      ...(talk.begun === undefined ? [] : [{ role: 'assistant' as const, text: talk.begun }]),
    ].filter(({ text }) => text.trim() !== ''),
    calls: exchanges.flatMap(({ calls }) => calls),
    media: exchanges.flatMap(({ media, calls }) => [
      ...media,
      ...calls.flatMap(({ shown }) =>
        shown === undefined ? [] : [{ kind: 'image', how: 'data', mark: shown } as const],
      ),
    ]),
    thoughts: exchanges.flatMap(({ thought }) => (thought === undefined ? [] : [thought])),
    settings,
    tools: talk.tools,
    hasMarks: talk.isMarked,
    hasErrors: false,
    ...change,
  };
}

export const common = [
  'temperature',
  'topP',
  'maxTokens',
  'effort',
  'choice',
  'parallel',
  'user',
  'tier',
  'own',
] as const;
/** Without tools nothing is chosen. */
export const nameOf = ({ tools }: Talk, tool: number): string => tools[tool]?.name ?? 'f';
export const unless = (isAbsent: boolean, members: JsonObject): JsonObject => (isAbsent ? {} : members);
export const pngUrl = (bytes: string): string => `data:image/png;base64,${base64(bytes)}`;

export function isFreeCall({ tools }: Talk, { tool }: Call): boolean {
  return tools[tool]?.isFree === true;
}

/** What such a tool is called with. */
export function freeText({ input }: Call): string {
  return JSON.stringify(input);
}

/** The same conversation, with free texts as the inputs of tools that take them. */
export function withFreeInputs(talk: Talk): Talk {
  const withText = (call: Call): Call =>
    isFreeCall(talk, call) ? { ...call, input: { input: freeText(call) } } : call;
  return { ...talk, exchanges: talk.exchanges.map((each) => ({ ...each, calls: each.calls.map(withText) })) };
}

/** The calls in the order in which their results come. */
export function answeredCalls({ calls, isReversed }: Exchange): readonly Call[] {
  return isReversed ? calls.toReversed() : calls;
}
