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
/** The first version that knows an effort between `high` and `max`. */
const knowsXhigh = 47;

export interface WrittenThinking {
  /** Further members of the request. */
  readonly fields: JsonObject;
  /** Most tokens of thoughts, where that is said. */
  readonly budget?: number | undefined;
}

/** Undefined: the model shall not think, or not be asked to. */
export function writeThinking(request: ConversationRequest, writing: Writing): WrittenThinking | undefined {
  const { thinking, toolChoice, tools, turns } = request;
  if (thinking === undefined || thinking.mode === 'off') return undefined;
  const { mode, effort, budgetTokens } = thinking;
  if (mode === undefined && effort === undefined && budgetTokens === undefined) return undefined;
  const { canThink, thinksAdaptively } = writing.traits;
  // Claude refuses to think where a tool is forced, and with a budget where it called one without a thought that it signed.
  const isRefused = (isForced(toolChoice) && tools.length > 0) || (!thinksAdaptively && hasThoughtlessCall(turns));
  if (!canThink || isRefused) {
    writing.hint('thinking');
    return undefined;
  }
  if (!thinksAdaptively) {
    const budget = Math.max(budgetTokens ?? budgets[effort ?? 'medium'], smallestBudget);
    return { fields: { thinking: { type: 'enabled', budget_tokens: budget } }, budget };
  }
  const wanted = effort ?? effortOf(budgetTokens);
  const told = wanted === undefined ? {} : { output_config: { effort: known(wanted, writing.traits.version) } };
  return { fields: { thinking: { type: 'adaptive', ...display(thinking.summary) }, ...told } };
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

function known(effort: Effort, version: number): string {
  if (effort === 'minimal') return 'low';
  return effort === 'xhigh' && version < knowsXhigh ? 'high' : effort;
}

function display(summary: string | undefined): JsonObject {
  if (summary === undefined) return {};
  return { display: summary === 'omitted' ? 'omitted' : 'summarized' };
}
