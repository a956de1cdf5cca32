// Writes a request in the Responses format.
import type { ConversationRequest, OwnMember } from '../conversation/conversation.ts';
import { fieldName } from '../field-names.ts';
import { isObject, type JsonObject, type JsonValue, numberOf } from '../json/json.ts';
import { tellOwnMembers } from '../own-losses.ts';
import type { Losses, WriteTarget } from '../translation.ts';
import { longestUser } from '../usual-settings.ts';
import { writeInput } from './write-items.ts';
import { writeReasoning, writeSampling, writeText } from './write-settings.ts';
import { writeTools } from './write-tools.ts';

/** OpenAI, and who imitates it, refuses a smaller limit. Tokens. */
const leastMaxTokens = 16;
/** Members that mean the same in OpenAI's other format. */
const shared: ReadonlySet<string> = new Set([
  'store',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
]);
const tiers: ReadonlySet<string> = new Set(['auto', 'default', 'flex', 'scale', 'priority']);

/**
 * The body for a provider. Answers are not kept there (`store`) unless the client asked for it in so many words: other dialects keep
 * nothing.
 */
export function writeRequest(request: ConversationRequest, target: WriteTarget, losses: Losses): JsonObject {
  const { dialect } = request;
  const { quirks } = target;
  // Who sends such tools in this dialect has a server that knows them.
  const hasFreeText = quirks.hasFreeTextTools ?? (quirks.isInventor === true || dialect === 'responses');
  const { instructions, input } = writeInput(request, { dialect, losses, hasFreeText });
  const isElsewhere = input.length === 0 && request.ownMembers.some(({ path }) => elsewhere.has(path[0] ?? ''));
  const body: JsonObject = {
    ...(quirks.isModelInPath === true ? {} : { model: target.model }),
    ...(instructions === undefined ? {} : { instructions }),
    ...(isElsewhere ? {} : { input }),
    ...writeTools(request, hasFreeText, losses),
    ...writeText(request),
    ...writeReasoning(request, target, losses),
    ...writeSampling(request, target, losses),
    ...writeOthers(request, losses),
    ...(dialect === 'responses' && request.keepsAnswers !== false ? {} : { store: false }),
  };
  return withQuirks(withMembers(body, sayable({ request, losses })), { request, target, losses });
}

/** Members that may replace the input. */
const elsewhere: ReadonlySet<string> = new Set(['conversation', 'prompt', 'previous_response_id']);

function writeOthers(request: ConversationRequest, losses: Losses): JsonObject {
  const { dialect, parallelTools, user, metadata, serviceTier, stream } = request;
  const isNamed = user !== undefined && (dialect === 'responses' || user.length <= longestUser);
  if (user !== undefined && !isNamed) losses.hint(fieldName('user', dialect));
  const isTier = serviceTier !== undefined && (dialect === 'responses' || tiers.has(serviceTier));
  if (serviceTier !== undefined && !isTier) losses.hint(fieldName('serviceTier', dialect));
  return {
    ...(parallelTools === undefined ? {} : { parallel_tool_calls: parallelTools }),
    ...writeMaxTokens(request, losses),
    ...(isNamed ? { user } : {}),
    ...(metadata === undefined ? {} : { metadata }),
    ...(isTier ? { service_tier: serviceTier } : {}),
    ...(stream ? { stream: true } : {}),
  };
}

/** Clients of other dialects try a connection with a limit of one token. */
function writeMaxTokens({ maxTokens, dialect }: ConversationRequest, losses: Losses): JsonObject {
  if (maxTokens === undefined) return {};
  const isTooFew = (numberOf(maxTokens) ?? leastMaxTokens) < leastMaxTokens;
  if (!isTooFew || dialect === 'responses') return { max_output_tokens: maxTokens };
  losses.hint(fieldName('maxTokens', dialect));
  return { max_output_tokens: leastMaxTokens };
}

interface Telling {
  readonly request: ConversationRequest;
  readonly losses: Losses;
}

/** The members of the client's dialect that this one has, too; the others are told as losses. */
function sayable({ request, losses }: Telling): readonly OwnMember[] {
  if (request.dialect === 'responses') return request.ownMembers;
  const isSaid = ({ path }: OwnMember): boolean =>
    request.dialect === 'chat' && path.length === 1 && shared.has(path[0] ?? '');
  tellOwnMembers(request, losses, { because: 'it has no such member', isSaid });
  return request.ownMembers.filter(isSaid);
}

/** Members that a server does not know and that change no answer. */
const harmless: ReadonlySet<string> = new Set(
  'metadata user store service_tier include parallel_tool_calls temperature top_p reasoning'.split(' '),
);

/** Leaves out what the server does not know, and adds what it wants to have. */
function withQuirks(
  body: JsonObject,
  { request, target, losses }: Telling & { readonly target: WriteTarget },
): JsonObject {
  const without = new Set(target.quirks.without ?? []);
  const kept = Object.entries(body).filter(([key]) => {
    if (!without.has(key)) return true;
    // A server that knows no such member keeps nothing, as a client that says so wants it.
    const isAsked = key !== 'store' || request.ownMembers.some(({ path, value }) => path[0] === 'store' && value);
    if (!harmless.has(key)) losses.meaning(key, 'it has no such member');
    else if (isAsked) losses.hint(key);
    return false;
  });
  return { ...target.quirks.adds, ...Object.fromEntries(kept) };
}

type Placed = Pick<OwnMember, 'path' | 'value'>;

/** The body with each member at its path. Lists on the way keep their other entries, and `include` those that stand there. */
function withMembers(body: JsonObject, members: readonly Placed[]): JsonObject {
  const placed = new Map<string, JsonValue>();
  const inner = new Map<string, Placed[]>();
  for (const { path, value } of members) {
    const [key = '', ...rest] = path;
    if (rest.length === 0) placed.set(key, joined(key, value, body));
    else {
      const within = inner.get(key) ?? [];
      within.push({ path: rest, value });
      inner.set(key, within);
    }
  }
  const nested = [...inner].map(([key, within]): [string, JsonValue] => [key, withNested(body[key], within)]);
  return { ...body, ...Object.fromEntries(nested), ...Object.fromEntries(placed) };
}

function joined(key: string, value: JsonValue, body: JsonObject): JsonValue {
  const before = key === 'include' ? body[key] : undefined;
  return Array.isArray(before) && Array.isArray(value)
    ? [...(value as JsonValue[]), ...(before as JsonValue[])]
    : value;
}

function withNested(before: JsonValue | undefined, members: readonly Placed[]): JsonValue {
  if (!Array.isArray(before)) return withMembers(isObject(before) ? before : {}, members);
  const entries = Object.fromEntries((before as readonly JsonValue[]).entries());
  return Object.values(withMembers(entries, members)) as JsonValue[];
}
