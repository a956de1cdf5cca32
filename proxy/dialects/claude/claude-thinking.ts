// How Claude is told to think, and when it refuses to: the same for Anthropic's own API and for Bedrock.

import type { Thinking, ToolChoice, Turn } from '../conversation/conversation.ts';
import { type Effort, effortOfBudget } from '../conversation/effort.ts';
import type { Part } from '../conversation/parts.ts';
import { budgetWithin } from '../conversation/thinking-budget.ts';
import type { JsonValue } from '../json/json.ts';
import type { ClaudeTraits } from './claude-models.ts';

/** Budgets in tokens. The highest leaves room below the least that a model of that time can answer. */
const budgets: Readonly<Record<Effort, number>> = {
  minimal: 1024,
  low: 5_000,
  medium: 10_000,
  high: 20_000,
  xhigh: 24_000,
  max: 24_000,
};
/** Fewest tokens of thoughts that Claude takes. */
export const leastClaudeBudget = 1024;

/**
 * The thinking budget in tokens for a model that needs one. Claude refuses a budget that is not below `maxTokens`, the
 * cap of the answer; undefined when the cap leaves no room to think.
 */
export function claudeBudgetOf(
  { effort, budgetTokens }: Thinking,
  maxTokens: JsonValue | undefined,
): number | undefined {
  const asked = Math.max(leastClaudeBudget, budgetTokens ?? budgets[effort ?? 'medium']);
  return budgetWithin(asked, maxTokens, leastClaudeBudget);
}

/** The effort for a model with adaptive thinking; undefined: its default. */
export function claudeEffortOf({ effort, budgetTokens }: Thinking, { knowsXhigh }: ClaudeTraits): Effort | undefined {
  if (effort === undefined) return budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens);
  if (effort === 'minimal') return 'low';
  return effort === 'xhigh' && !knowsXhigh ? 'high' : effort;
}

/**
 * Switches thinking off for a model that thinks by default; undefined when it needs no switch or has none. `effort`: as
 * asked; such a model refuses more than `high` then.
 */
export function claudeOff({ effort }: Thinking, traits: ClaudeTraits): { type: string; effort?: Effort } | undefined {
  if (!traits.thinksByDefault || traits.alwaysThinks) return undefined;
  const told = effort === undefined ? undefined : claudeEffortOf({ effort }, traits);
  const most = told === 'xhigh' || told === 'max' ? 'high' : told;
  return { type: traits.offType, ...(most === undefined ? {} : { effort: most }) };
}

/** Whether a tool call is forced; Claude refuses thinking with it. */
export function isForced(choice: ToolChoice | undefined): boolean {
  return choice?.kind === 'required' || choice?.kind === 'tool';
}

/**
 * Whether signed thoughts are missing before results of tools, or before a started answer: a model with a thinking
 * budget refuses to continue without them.
 */
export function lacksThoughts(turns: readonly Turn[]): boolean {
  const said = turns.filter(({ parts }) => parts.some(isWritten));
  const parts = partsSinceAsked(said);
  const isBegun = said.at(-1)?.role === 'assistant';
  if (!isBegun && !parts.some(({ kind }) => kind === 'tool_call')) return false;
  return !parts.some((part) => part.kind === 'reasoning' && isWritten(part));
}

/** Blanks are left out, and thoughts that Claude did not sign. */
function isWritten(part: Part): boolean {
  if (part.kind === 'text') return part.text.trim() !== '';
  return part.kind !== 'reasoning' || (part.signature ?? part.encrypted)?.family === 'anthropic';
}

/**
 * The model's parts since the last message of the user that was not only results. Text beside or behind results belongs
 * to one message.
 */
function partsSinceAsked(turns: readonly Turn[]): readonly Part[] {
  let parts: Part[] = [];
  let hasResults = true;
  for (const turn of turns) {
    if (turn.role === 'assistant') {
      if (!hasResults) parts = [];
      parts.push(...turn.parts);
      hasResults = false;
    } else hasResults ||= turn.parts.some(({ kind }) => kind === 'tool_result');
  }
  // Behind a question there is nothing yet.
  return turns.at(-1)?.role === 'assistant' || hasResults ? parts : [];
}
