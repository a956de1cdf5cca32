// Asks providers for clients, in all pairs of their formats, as the gateway does for one target of a call.
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import type { Quirks } from '../../../../proxy/dialects/quirks.ts';
import type { ProviderDialect } from '../../../../proxy/dialects/translation.ts';
import { Refusal } from '../../../../proxy/errors.ts';
import { atOnce } from '../../../../proxy/pacing/slices.ts';
import { bedrock, vertex } from '../../../../proxy/providers/clouds.ts';
import { clientDialects, providerDialects } from '../../../../proxy/providers/dialects.ts';
import { anthropic, deepseek, gemini, mistral, openai } from '../../../../proxy/providers/makers.ts';
import { stateless } from '../../../../proxy/providers/speeches.ts';
import { conversationOf } from '../../../../proxy/translation/conversation-of.ts';
import type { UnsupportedPolicy } from '../../../../proxy/translation/losses.ts';
import { type Translated, translate } from '../../../../proxy/translation/translated.ts';
import { requestOf } from './client-requests.ts';
import { complaints } from './compare.ts';
import { heardBy, type ProviderName } from './heard.ts';
import type { ClientName, Talk } from './talk.ts';

/** A model, and what is known of its server. */
interface Target {
  readonly provider: ProviderName;
  readonly model: string;
  readonly quirks: Quirks;
}

export interface Pair extends Target {
  readonly client: ClientName;
}

const targets: readonly Target[] = [
  { provider: 'chat', model: 'm', quirks: {} },
  { provider: 'chat', model: 'gpt-5', quirks: openai.speeches.chat?.quirks ?? {} },
  { provider: 'chat', model: 'gpt-4o', quirks: openai.speeches.chat?.quirks ?? {} },
  { provider: 'chat', model: 'mistral-large', quirks: mistral.speeches.chat?.quirks ?? {} },
  { provider: 'chat', model: 'deepseek-chat', quirks: deepseek.speeches.chat?.quirks ?? {} },
  { provider: 'chat', model: 'a/b', quirks: { thinking: 'reasoning' } },
  { provider: 'responses', model: 'gpt-5.2', quirks: openai.speeches.responses?.quirks ?? {} },
  { provider: 'responses', model: 'm', quirks: { without: stateless } },
  { provider: 'messages', model: 'claude-sonnet-4-5', quirks: anthropic.speeches.messages?.quirks ?? {} },
  { provider: 'messages', model: 'claude-opus-4-8', quirks: anthropic.speeches.messages?.quirks ?? {} },
  { provider: 'messages', model: 'm', quirks: deepseek.speeches.messages?.quirks ?? {} },
  { provider: 'gemini', model: 'gemini-2.5-flash', quirks: gemini.speeches.gemini?.quirks ?? {} },
  { provider: 'gemini', model: 'gemini-3-pro', quirks: vertex.speeches.gemini?.quirks ?? {} },
  { provider: 'gemini', model: 'gemini-2.5-pro', quirks: { isModelInPath: true } },
  {
    provider: 'bedrock',
    model: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
    quirks: bedrock.speeches.bedrock?.quirks ?? {},
  },
  { provider: 'bedrock', model: 'us.anthropic.claude-opus-4-6-v1', quirks: bedrock.speeches.bedrock?.quirks ?? {} },
  { provider: 'bedrock', model: 'meta.llama3-1-70b-instruct-v1:0', quirks: bedrock.speeches.bedrock?.quirks ?? {} },
];
const clients = ['chat', 'messages', 'responses', 'completions'] as const;

/** A client of each format, and a target of each kind. */
export const pairs: readonly Pair[] = clients.flatMap((client) => targets.map((target) => ({ client, ...target })));

export function dialectOf(provider: ProviderName): ProviderDialect {
  const dialect = providerDialects[provider];
  if (dialect === undefined) throw new Error(`${provider} is not implemented`);
  return dialect;
}

/** A request on its way to a target, its conversation frozen. */
export function asked(
  { client, provider, model, quirks }: Pair,
  body: JsonObject,
  unsupported: UnsupportedPolicy,
): Translated {
  const dialect = clientDialects[client];
  if (dialect === undefined) throw new Error(`${client} is not implemented`);
  const spoken = atOnce(conversationOf({ body: Buffer.from(JSON.stringify(body)) }, dialect));
  frozen([spoken.request, spoken.body]);
  return atOnce(translate(spoken, { model, upstream: { name: 'far', unsupported } }, { quirks }, dialectOf(provider)));
}

/** The body that a provider got. */
export function sentBy({ body }: Translated): JsonObject {
  return JSON.parse(body.toString()) as JsonObject;
}

/** What is wrong with a request where all losses are allowed, and with its refusal where those of meaning are not. */
export function complaintsOf(pair: Pair, talk: Talk): readonly string[] {
  const { body, told } = requestOf(pair.client, talk);
  const translated = asked(pair, body, 'drop');
  const { dropped } = translated;
  const heard = heardBy(pair.provider, sentBy(translated));
  const wrong = complaints({ ...pair, told, heard, body: translated.body.toString(), dropped });
  return [...wrong, ...refusalComplaints(pair, body, dropped)];
}

function refusalComplaints(pair: Pair, body: JsonObject, dropped: readonly string[]): readonly string[] {
  try {
    const translated = asked(pair, body, undefined);
    const untold = dropped.filter((name) => !translated.dropped.includes(name));
    return untold.map((name) => `${name} is named where everything may be left out, and else not`);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { param, code } = error;
    const isThere = param !== undefined && param !== null && hasPlace(JSON.parse(JSON.stringify(body)), param);
    return code === 'unsupported_parameter' && isThere
      ? []
      : [`refused with ${code}, for ${param}, which is not in the body`];
  }
}

/** Whether a body has something at `messages[2].content[0]`. */
export function hasPlace(body: unknown, place: string): boolean {
  let inner = body;
  for (const key of place.replaceAll(/\[(\d+)\]/g, '.$1').split('.')) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, key)) return false;
    inner = (inner as Record<string, unknown>)[key];
  }
  return true;
}

/** The same value, frozen. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value) && !ArrayBuffer.isView(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) frozen(inner);
  }
  return value;
}
