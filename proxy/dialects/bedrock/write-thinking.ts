// Writes how much Claude shall think. The members are Anthropic's own; other models of Bedrock take none of them.
import type { ConversationRequest, Thinking, Turn } from '../conversation/conversation.ts';
import type { Part } from '../conversation/parts.ts';
import type { JsonObject } from '../json.ts';
import { isForced } from './write-tools.ts';
import type { Writing } from './writing.ts';

type Effort = NonNullable<Thinking['effort']>;

/** Tokens of thoughts for models that take a budget. */
const budgets: Readonly<Record<Effort, number>> = {
  minimal: 1024,
  low: 5000,
  medium: 10_000,
  high: 20_000,
  xhigh: 20_000,
  max: 20_000,
};
/** Fewest that Anthropic takes. */
const smallestBudget = 1024;

export interface WrittenThinking {
  /** Further members of the request. */
  readonly fields: JsonObject;
  readonly isOn: boolean;
  /** Most tokens of thoughts, where that is said. */
  readonly budget?: number | undefined;
}

/** Undefined: nothing is said of it. */
export function writeThinking(request: ConversationRequest, writing: Writing): WrittenThinking | undefined {
  const { thinking, toolChoice, tools, turns } = request;
  if (thinking === undefined) return undefined;
  const { mode, effort, budgetTokens } = thinking;
  const { canThink, thinksAdaptively, alwaysThinks } = writing.traits;
  if (mode === 'off') {
    if (alwaysThinks) writing.hint('thinking');
    return turnedOff(writing);
  }
  if (mode === undefined && effort === undefined && budgetTokens === undefined) return undefined;
  // Claude refuses to think where a tool is forced, and with a budget where it called one without a thought that it signed.
  const isRefused = (isForced(toolChoice) && tools.length > 0) || (!thinksAdaptively && hasThoughtlessCall(turns));
  if (!canThink || isRefused) {
    writing.hint('thinking');
    return turnedOff(writing);
  }
  return thinksAdaptively ? adaptive(thinking, writing) : within(budgetTokens ?? budgets[effort ?? 'medium']);
}

function turnedOff({ traits }: Writing): WrittenThinking | undefined {
  const isSaid = traits.thinksByDefault && !traits.alwaysThinks;
  return isSaid ? { fields: { thinking: { type: 'disabled' } }, isOn: false } : undefined;
}

function within(wanted: number): WrittenThinking {
  const budget = Math.max(wanted, smallestBudget);
  return { fields: { thinking: { type: 'enabled', budget_tokens: budget } }, isOn: true, budget };
}

function adaptive({ effort, budgetTokens, summary }: Thinking, { traits }: Writing): WrittenThinking {
  const wanted = effort ?? effortOf(budgetTokens);
  const told = wanted === undefined ? {} : { output_config: { effort: known(wanted, traits) } };
  return { fields: { thinking: { type: 'adaptive', ...display(summary) }, ...told }, isOn: true };
}

/** The conversation goes on with the results of calls, and the thoughts before the calls are gone. */
function hasThoughtlessCall(turns: readonly Turn[]): boolean {
  if (turns.at(-1)?.parts.some(({ kind }) => kind === 'tool_result') !== true) return false;
  const asked = turns.findLastIndex(
    ({ role, parts }) => role === 'user' && parts.every(({ kind }) => kind !== 'tool_result'),
  );
  const isSigned = (part: Part): boolean =>
    part.kind === 'reasoning' && (part.signature ?? part.encrypted)?.family === 'anthropic';
  return !turns.slice(asked + 1).some(({ role, parts }) => role === 'assistant' && parts.some(isSigned));
}

function effortOf(budget: number | undefined): Effort | undefined {
  if (budget === undefined) return undefined;
  if (budget >= budgets.high) return 'high';
  return budget >= budgets.medium ? 'medium' : 'low';
}

function known(effort: Effort, { knowsXhigh }: Writing['traits']): string {
  if (effort === 'minimal') return 'low';
  return effort === 'xhigh' && !knowsXhigh ? 'high' : effort;
}

function display(summary: string | undefined): JsonObject {
  if (summary === undefined) return {};
  return { display: summary === 'omitted' ? 'omitted' : 'summarized' };
}
