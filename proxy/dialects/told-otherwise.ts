// Rewrites members that a target's dialect does not have but that change the answer: into words, or into work of the gateway.
import type { ConversationRequest, Turn } from './conversation/conversation.ts';
import type { Part, TextPart, ToolResultPart } from './conversation/parts.ts';
import type { DialectName } from './names.ts';
import type { Quirks } from './quirks.ts';

/** These have no word for it that a tool has failed. */
const withoutFailures: ReadonlySet<DialectName> = new Set(['chat', 'responses', 'completions']);
/** These cannot be told to call one tool at a time. */
const withoutOneCall: ReadonlySet<DialectName> = new Set(['gemini', 'bedrock']);

/** The request for a target of another dialect; the same where there is nothing to tell otherwise. */
export function toldOtherwise(
  request: ConversationRequest,
  dialect: DialectName,
  { without }: Pick<Quirks, 'without'>,
): ConversationRequest {
  if (dialect === request.dialect) return request;
  const told = withSpeakers(withoutFailures.has(dialect) ? withFailures(request) : request);
  const isObeyed = withoutOneCall.has(dialect) || without?.includes('parallel_tool_calls') === true;
  // The gateway passes one call on.
  return isObeyed && told.parallelTools === false ? { ...told, parallelTools: undefined } : told;
}

/** Where several speak in one role, each name stands in front of the words; the only one of a role stays a name. */
function withSpeakers(request: ConversationRequest): ConversationRequest {
  const { turns } = request;
  if (!turns.some(({ name }) => name !== undefined)) return request;
  const speakers = new Map<Turn['role'], Set<string | undefined>>();
  for (const turn of turns) {
    if (!isSpoken(turn)) continue;
    const names = speakers.get(turn.role) ?? new Set();
    speakers.set(turn.role, names.add(turn.name));
  }
  const isOneOfSeveral = (turn: Turn): boolean => isSpoken(turn) && (speakers.get(turn.role)?.size ?? 0) > 1;
  return {
    ...request,
    turns: turns.map((turn) => {
      if (turn.name === undefined || !isOneOfSeveral(turn)) return turn;
      return { ...turn, name: undefined, parts: inFront(turn.parts, `${turn.name}: `) };
    }),
  };
}

/** Results of tools have no speaker. */
function isSpoken({ parts }: Turn): boolean {
  return parts.some(({ kind }) => kind !== 'tool_result');
}

function withFailures(request: ConversationRequest): ConversationRequest {
  const isFailed = (part: Part): boolean => part.kind === 'tool_result' && part.isError;
  if (!request.turns.some(({ parts }) => parts.some(isFailed))) return request;
  const told = (part: Part): Part => (part.kind === 'tool_result' && part.isError ? asWords(part) : part);
  return { ...request, turns: request.turns.map((turn) => ({ ...turn, parts: turn.parts.map(told) })) };
}

const saysSo = /^\W*\w*error\b/i;

function asWords(result: ToolResultPart): ToolResultPart {
  const [first] = result.content;
  const isSaid = first?.kind === 'text' && saysSo.test(first.text);
  return { ...result, isError: false, content: isSaid ? result.content : inFront(result.content, 'Error: ') };
}

/** The words in front of the first text; a text of their own where there is none. */
function inFront<P extends Part>(parts: readonly P[], words: string): readonly (P | TextPart)[] {
  const at = parts.findIndex(({ kind }) => kind === 'text');
  const first = parts[at];
  if (first === undefined || first.kind !== 'text') return [{ kind: 'text', text: words.trim() }, ...parts];
  return parts.with(at, { ...first, text: words + first.text });
}
