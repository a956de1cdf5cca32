// Answers of models as each provider writes them, from one account of what is said.
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import type { HeardTool, ProviderName } from './heard.ts';
import { isCall, isThought, type Pace, type SaidAnswer, type SaidPart, type Telling } from './said-answer.ts';
import { streamChat, wholeChat } from './speak-chat.ts';
import { streamBedrock, streamMessages, wholeBedrock, wholeMessages } from './speak-claude.ts';
import { streamGemini, wholeGemini } from './speak-gemini.ts';
import { streamResponses, wholeResponses } from './speak-responses.ts';

/** One answer in a provider's words. */
export interface Spoken {
  readonly whole: JsonObject;
  readonly stream: Buffer;
}

/** `tools`: those that the provider heard of. */
export function spokenBy(provider: ProviderName, said: SaidAnswer, tools: readonly HeardTool[], pace: Pace): Spoken {
  const none: HeardTool = { name: 'f', description: '', isFree: false, parameters: [] };
  const toolOf: Telling['toolOf'] = ({ tool }) => tools[tool % Math.max(1, tools.length)] ?? none;
  const telling = { said, toolOf, pace };
  return { whole: wholes[provider](telling), stream: streams[provider](telling) };
}

/** What a provider can say of it: calls of tools that it heard of, with their input as the tool takes it, and in chat one part of each kind. */
export function sayable(
  provider: ProviderName,
  said: SaidAnswer,
  tools: readonly HeardTool[],
  takesText: (tool: HeardTool) => boolean,
): SaidAnswer {
  const parts = said.parts.flatMap((part): readonly SaidPart[] => {
    if (part.kind !== 'call') return [part];
    const tool = tools[part.tool % Math.max(1, tools.length)];
    if (tool === undefined) return [];
    return [takesText(tool) ? { ...part, input: { input: JSON.stringify(part.input) } } : part];
  });
  if (provider !== 'chat') return { ...said, parts };
  const [thought] = parts.filter(isThought);
  const texts = (['text', 'refusal'] as const).flatMap((kind) => parts.filter((part) => part.kind === kind));
  return { ...said, parts: [...(thought === undefined ? [] : [thought]), ...texts, ...parts.filter(isCall)] };
}

const wholes: Readonly<Record<ProviderName, (telling: Telling) => JsonObject>> = {
  chat: wholeChat,
  messages: wholeMessages,
  responses: wholeResponses,
  gemini: wholeGemini,
  bedrock: wholeBedrock,
};
const streams: Readonly<Record<ProviderName, (telling: Telling) => Buffer>> = {
  chat: streamChat,
  messages: streamMessages,
  responses: streamResponses,
  gemini: streamGemini,
  bedrock: streamBedrock,
};
