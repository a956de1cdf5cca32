// Says how much a model shall think: newer ones are told an effort, older ones a budget of tokens.
import type { ClaudeTraits } from '../claude-models.ts';
import type { ConversationRequest, Thinking } from '../conversation/conversation.ts';
import type { JsonObject } from '../json.ts';

type Effort = NonNullable<Thinking['effort']>;

export interface WrittenThinking {
  readonly thinking?: JsonObject | undefined;
  readonly effort?: string | undefined;
  /** Fewest tokens that the answer must be allowed. */
  readonly leastTokens: number;
  /** The client asked for thoughts, and the conversation allows none. */
  readonly isLost: boolean;
}

/** Budgets in tokens. The highest leaves room below the least that a model of that time can answer. */
const budgets: Readonly<Record<Effort, number>> = {
  minimal: 1024,
  low: 5_000,
  medium: 10_000,
  high: 20_000,
  xhigh: 24_000,
  max: 24_000,
};
const leastBudget = 1024;
/** What remains for the answer beside a budget. Tokens. */
const besideBudget = 1024;

/** What the request asks for, as this model can be told. A client of the same dialect said it in the model's words already. */
export function writeThinking(request: ConversationRequest, traits: ClaudeTraits): WrittenThinking {
  const { thinking, dialect } = request;
  if (thinking === undefined) return { leastTokens: 1, isLost: false };
  if (dialect === 'messages') return asSaid(thinking);
  const { mode, effort, budgetTokens } = thinking;
  const isAsked = mode === 'on' || mode === 'adaptive' || effort !== undefined || budgetTokens !== undefined;
  if (mode === 'off' || !isAsked) return { leastTokens: 1, isLost: false };
  if (isForced(request) || (!traits.thinksAdaptively && lacksThoughts(request)))
    return { leastTokens: 1, isLost: true };
  if (!traits.thinksAdaptively) {
    const budget_tokens = Math.max(leastBudget, budgetTokens ?? budgets[effort ?? 'medium']);
    return {
      thinking: { type: 'enabled', budget_tokens },
      leastTokens: budget_tokens + besideBudget,
      isLost: false,
    };
  }
  const isShown = thinking.summary !== undefined && thinking.summary !== 'omitted';
  return {
    thinking: { type: 'adaptive', ...(isShown ? { display: 'summarized' } : {}) },
    effort: effortOf(thinking, traits),
    leastTokens: 1,
    isLost: false,
  };
}

function asSaid({ mode, effort, budgetTokens, summary }: Thinking): WrittenThinking {
  const display = summary === undefined ? {} : { display: summary };
  const types = { on: 'enabled', off: 'disabled', adaptive: 'adaptive' } as const;
  const budget = budgetTokens === undefined ? {} : { budget_tokens: budgetTokens };
  const thinking = mode && { type: types[mode], ...budget, ...display };
  return { thinking, effort, leastTokens: 1, isLost: false };
}

function effortOf({ effort, budgetTokens }: Thinking, traits: ClaudeTraits): string | undefined {
  if (effort === undefined) return budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens);
  if (effort === 'minimal') return 'low';
  return effort === 'xhigh' && !traits.knowsXhigh ? 'high' : effort;
}

/** How much effort a budget stands for. */
function effortOfBudget(tokens: number): 'low' | 'medium' | 'high' {
  if (tokens >= budgets.high) return 'high';
  return tokens >= budgets.medium ? 'medium' : 'low';
}

/** Who must call a tool must not think. */
function isForced({ toolChoice }: ConversationRequest): boolean {
  return toolChoice?.kind === 'required' || toolChoice?.kind === 'tool';
}

/** A model with a budget goes on behind the results of tools only from the signed thoughts that led to the calls. */
function lacksThoughts({ turns }: ConversationRequest): boolean {
  const asked = turns.findLastIndex(
    ({ role, parts }) => role === 'user' && parts.some(({ kind }) => kind !== 'tool_result'),
  );
  const since = turns.slice(asked + 1).filter(({ role }) => role === 'assistant');
  const parts = since.flatMap((turn) => turn.parts);
  if (!parts.some(({ kind }) => kind === 'tool_call')) return false;
  return !parts.some((part) => part.kind === 'reasoning' && (part.signature ?? part.encrypted)?.family === 'anthropic');
}
