// The request to another target to go on with an answer that broke off.
import { claudeTraitsOf, isClaude } from '../../dialects/claude/claude-models.ts';
import type { ConversationRequest, Turn } from '../../dialects/conversation/conversation.ts';
import type { TextPart } from '../../dialects/conversation/parts.ts';
import { numberOf } from '../../dialects/json/json.ts';
import type { DialectName } from '../../dialects/names.ts';
import type { Quirks } from '../../dialects/quirks.ts';
import type { AskedToGoOn } from './seam.ts';

/** Another target, and how it is spoken to. */
export interface GoingOn {
  readonly dialect: DialectName;
  readonly model: string;
  readonly quirks: Quirks;
  /** From the host on. */
  readonly path: string;
}

/** What is sent, and what may come back. */
export interface Continuation {
  readonly request: ConversationRequest;
  readonly asked: AskedToGoOn;
}

/** How many of the last characters are quoted to a target that has no prefill. */
const quoted = 200;

/**
 * The request with `said`, not blank, as the beginning of the answer: as prefill where the model takes it, else with an instruction to go on.
 * `spentTokens`: what the beginning takes of the most that were asked for.
 */
export function continuationOf(
  request: ConversationRequest,
  said: string,
  spentTokens: number,
  target: GoingOn,
): Continuation {
  const form = formOf(request, target);
  const most = numberOf(request.maxTokens);
  const maxTokens = most === undefined ? request.maxTokens : Math.max(1, most - spentTokens);
  // Anthropic refuses blanks at the end of a prefill.
  const prefix = form === 'words' ? said : said.trimEnd();
  const begun: TextPart = {
    kind: 'text',
    text: prefix,
    ...(form === 'prefix' ? { own: { dialect: 'chat', members: { message: { prefix: true } } } } : {}),
  };
  const turns: Turn[] = [...request.turns, { role: 'assistant', parts: [begun] }];
  if (form === 'words') turns.push({ role: 'user', parts: [{ kind: 'text', text: instruction(said) }] });
  return {
    request: { ...request, turns, maxTokens },
    asked: { prefix, isExact: form !== 'words', repeats: form === 'prefix' },
  };
}

/** `prefill`: a last turn of the assistant; `prefix`: the same with a mark (Mistral, DeepSeek); `words`: an instruction behind it. */
function formOf(
  { thinking }: ConversationRequest,
  { dialect, model, quirks, path }: GoingOn,
): 'prefill' | 'prefix' | 'words' {
  // Claude takes no prefill while it thinks.
  const isQuiet = thinking === undefined || thinking.mode === 'off';
  if (dialect === 'messages' || dialect === 'bedrock')
    return isQuiet && isClaude(model) && claudeTraitsOf(model).takesPrefill ? 'prefill' : 'words';
  const { prefix } = quirks;
  return dialect === 'chat' && prefix !== undefined && path.startsWith(prefix) ? 'prefix' : 'words';
}

function instruction(said: string): string {
  const last = said.slice(-quoted);
  return (
    'Your answer above broke off. Go on with it at exactly the point where it ends, in the same language and form. Repeat nothing, ' +
    'do not begin again, and say nothing about the break; if a new word or line begins there, begin with its space or line break. ' +
    `The last characters are:\n${last}`
  );
}

/** Whether an answer to this request can be joined of the words of several targets. `goesOn`: of parts; else it is one target's. */
export function isRescuable(request: ConversationRequest, goesOn: boolean): boolean {
  const { stream, output, sampling, ownMembers, tools, turns } = request;
  if (!stream || sampling.logprobs === true || ownMembers.some(({ isMeaning }) => isMeaning)) return false;
  // Tools that a provider runs itself leave parts that another one does not know.
  if (tools.some(({ kind }) => kind === 'foreign') || turns.length === 0) return false;
  return !goesOn || output === undefined || output.kind === 'text';
}
