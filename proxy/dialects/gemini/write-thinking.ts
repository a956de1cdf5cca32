// How much a Gemini model shall think: a budget of tokens for 2.5, a level since 3.
import type { ConversationRequest, Thinking } from '../conversation/conversation.ts';
import { type Effort, effortOfBudget } from '../conversation/effort.ts';
import { budgetWithin } from '../conversation/thinking-budget.ts';
import { type Generation, generationOf } from '../gemini-models.ts';
import type { JsonObject } from '../json/json.ts';

/** Google's own equivalents of OpenAI's efforts. Tokens. */
const budgets: Readonly<Record<Effort, number>> = {
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 32_768,
  max: 32_768,
};
/** Least and most tokens of thoughts, where thinking is on. */
const ranges: Readonly<Record<Generation['size'], readonly [least: number, most: number]>> = {
  pro: [128, 32_768],
  flash: [1, 24_576],
  'flash-lite': [512, 24_576],
};
/** As many tokens as the model sees fit. */
const dynamic = -1;

/** A `thinkingConfig`, and whether it says all that was asked. Undefined: the model cannot be told. */
export interface WrittenThinking {
  readonly config: JsonObject | undefined;
  readonly isWhole: boolean;
}

/** `shows`: the client wants to see thoughts. Budgets stay below the cap of the answer, which thoughts would use up. */
export function writeThinking(
  { thinking = {}, maxTokens }: Pick<ConversationRequest, 'thinking' | 'maxTokens'>,
  model: string,
  shows: boolean,
): WrittenThinking {
  const generation = generationOf(model);
  // Models without a number in their name are the newest ones, which know budgets, too.
  const isKnown = generation === undefined ? model.includes('gemini-') : isThinker(generation, model);
  if (!isKnown) return { config: undefined, isWhole: thinking.mode === 'off' };
  const seen = shows && thinking.mode !== 'off' ? { includeThoughts: true } : {};
  if (generation !== undefined && generation.major >= 3) return withLevel(thinking, generation, seen);
  return withBudget({ ...thinking, maxTokens }, generation?.size ?? 'flash', seen);
}

function isThinker({ major, minor }: Generation, model: string): boolean {
  return (major >= 3 || (major === 2 && minor >= 5)) && !model.includes('-image');
}

function withBudget(
  { mode, effort, budgetTokens, maxTokens }: Thinking & Pick<ConversationRequest, 'maxTokens'>,
  size: Generation['size'],
  seen: JsonObject,
): WrittenThinking {
  const [least, most] = ranges[size];
  // The large model always thinks.
  const off = { thinkingBudget: size === 'pro' ? least : 0 };
  if (mode === 'off') return { config: off, isWhole: size !== 'pro' };
  const asked = budgetTokens ?? (effort === undefined ? undefined : budgets[effort]);
  if (asked !== undefined) {
    const thinkingBudget = budgetWithin(Math.min(Math.max(asked, least), most), maxTokens, least);
    if (thinkingBudget === undefined) return { config: off, isWhole: false };
    return { config: { ...seen, thinkingBudget }, isWhole: true };
  }
  return { config: mode === undefined ? whenAny(seen) : { ...seen, thinkingBudget: dynamic }, isWhole: true };
}

function withLevel(
  { mode, effort, budgetTokens }: Thinking,
  generation: Generation,
  seen: JsonObject,
): WrittenThinking {
  const isSmall = generation.size !== 'pro';
  if (mode === 'off') return { config: { thinkingLevel: isSmall ? 'minimal' : 'low' }, isWhole: false };
  const asked = effort ?? (budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens));
  if (asked === undefined) return { config: whenAny(seen), isWhole: true };
  return { config: { ...seen, thinkingLevel: levelOf(asked, generation) }, isWhole: true };
}

/** Gemini 3 Pro knows two levels, later ones three; the small models four. */
function levelOf(effort: Effort, { size, minor }: Generation): string {
  if (effort === 'minimal') return size === 'pro' ? 'low' : 'minimal';
  if (effort === 'low') return 'low';
  return effort === 'medium' && (size !== 'pro' || minor > 0) ? 'medium' : 'high';
}

function whenAny(config: JsonObject): JsonObject | undefined {
  return Object.keys(config).length === 0 ? undefined : config;
}
