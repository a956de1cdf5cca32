// The text of a request that is compared by its meaning: the last text of the user. Everything else of it must be equal.
import type { Member } from '../bytes/scan.ts';
import type { Call } from '../call/call.ts';
import type { Operation } from '../dialects/dialect.ts';
import { isObject, type JsonObject, type JsonValue, parseObject, writeJson } from '../dialects/json/json.ts';
import type { SemanticSettings } from '../snapshot/snapshot.ts';

export interface ComparedText {
  readonly text: string;
  /** JSON of the conversation without that text. */
  readonly rest: string;
  /** The other members of the request, in their order. */
  readonly members: readonly Member[];
}

/** Where a conversation stands, and its system prompt. */
interface Places {
  readonly turns: string;
  readonly system?: string;
}

const ofResponses: Places = { turns: 'input', system: 'instructions' };
const places: Readonly<Partial<Record<Operation, Places>>> = {
  chat: { turns: 'messages' },
  chat_of_input: ofResponses,
  responses: ofResponses,
  messages: { turns: 'messages', system: 'system' },
};
/** A conversation beyond this is not read. Bytes. */
const mostBytes = 256 * 1024;
/** Models of embeddings read some 8,000 tokens. Characters. */
const longestText = 16_384;

/** Undefined: there is no such text at the end, or the conversation is too long. `members`: those that decide the answer. */
export function comparedText(
  { body }: Pick<Call, 'body'>,
  members: readonly Member[],
  operation: Operation,
  settings: Pick<SemanticSettings, 'mostTurns' | 'withSystem'>,
): ComparedText | undefined {
  const place = places[operation];
  if (place === undefined) return undefined;
  const others: Member[] = [];
  let turns: Member | undefined;
  for (const member of members) {
    const name = body.toString('latin1', member.keyStart, member.keyEnd);
    if (name !== place.turns) {
      if (settings.withSystem || name !== place.system) others.push(member);
    } else if (turns === undefined) turns = member;
    else return undefined;
  }
  if (turns === undefined || turns.valueEnd - turns.valueStart > mostBytes) return undefined;
  const said = parseObject(`{"turns":${body.toString('utf8', turns.valueStart, turns.valueEnd)}}`)?.['turns'];
  const isBare = typeof said === 'string' && place === ofResponses;
  const split = isBare ? { text: said, rest: null } : splitTurns(said, settings);
  if (split === undefined || split.text.trim() === '' || split.text.length > longestText) return undefined;
  return { text: split.text, rest: writeJson(split.rest), members: others };
}

interface Split {
  readonly text: string;
  readonly rest: JsonValue;
}

function splitTurns(
  said: JsonValue | undefined,
  { mostTurns, withSystem }: Pick<SemanticSettings, 'mostTurns' | 'withSystem'>,
): Split | undefined {
  if (!Array.isArray(said) || !said.every(isObject)) return undefined;
  const turns: readonly JsonObject[] = said;
  const spoken = turns.filter((turn) => !isSystem(turn));
  const told = withSystem ? turns : spoken;
  const last = told.at(-1);
  if (last === undefined || spoken.length > mostTurns || !isOfUser(last)) return undefined;
  const { text, rest } = splitContent(last['content']);
  return { text, rest: [...told.slice(0, -1), { ...last, content: rest }] };
}

function isSystem({ role }: JsonObject): boolean {
  return role === 'system' || role === 'developer';
}

function isOfUser({ role, type = 'message' }: JsonObject): boolean {
  return role === 'user' && type === 'message';
}

/** Texts in their order, and parts of other kinds in theirs. */
function splitContent(content: JsonValue | undefined): Split {
  if (typeof content === 'string') return { text: content, rest: null };
  if (!Array.isArray(content)) return { text: '', rest: null };
  const texts: string[] = [];
  const rest = (content as readonly JsonValue[]).map((part) => {
    const isText = isObject(part) && (part['type'] === 'text' || part['type'] === 'input_text');
    if (!isText || typeof part['text'] !== 'string') return part;
    texts.push(part['text']);
    return { ...part, text: null };
  });
  return { text: texts.join('\n'), rest };
}
