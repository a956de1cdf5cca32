// Says how much a model shall think: newer ones are told an effort, older ones a budget of tokens.
import type { ClaudeTraits } from '../claude/claude-models.ts';
import { claudeBudgetOf, claudeEffortOf, claudeOff, isForced, lacksThoughts } from '../claude/claude-thinking.ts';
import type { ConversationRequest, Thinking } from '../conversation/conversation.ts';
import { besideThoughts } from '../conversation/thinking-budget.ts';
import type { JsonObject } from '../json/json.ts';

export interface WrittenThinking {
  readonly thinking?: JsonObject | undefined;
  readonly effort?: string | undefined;
  /** Fewest tokens that the answer must be allowed where the client sets no cap. */
  readonly leastTokens: number;
  /** The client asked for thoughts, and the conversation allows none. */
  readonly isLost: boolean;
}

/** The thinking members for this model. A client of the same dialect used the model's members already. */
export function writeThinking(request: ConversationRequest, traits: ClaudeTraits): WrittenThinking {
  const { thinking, dialect } = request;
  if (thinking === undefined) return { leastTokens: 1, isLost: false };
  if (dialect === 'messages') return asSaid(thinking);
  const { mode, effort, budgetTokens } = thinking;
  const isAsked = mode === 'on' || mode === 'adaptive' || effort !== undefined || budgetTokens !== undefined;
  if (mode === 'off') return turnedOff(thinking, traits, traits.alwaysThinks);
  if (!isAsked) return { leastTokens: 1, isLost: false };
  if (isForced(request.toolChoice) || (!traits.thinksAdaptively && lacksThoughts(request.turns)))
    return turnedOff(thinking, traits, true);
  if (!traits.thinksAdaptively) {
    const budget_tokens = claudeBudgetOf(thinking, request.maxTokens);
    if (budget_tokens === undefined) return turnedOff(thinking, traits, true);
    return { thinking: { type: 'enabled', budget_tokens }, leastTokens: budget_tokens + besideThoughts, isLost: false };
  }
  const isShown = thinking.summary !== undefined && thinking.summary !== 'omitted';
  return {
    thinking: { type: 'adaptive', ...(isShown ? { display: 'summarized' } : {}) },
    effort: claudeEffortOf(thinking, traits),
    leastTokens: 1,
    isLost: false,
  };
}

function turnedOff(thinking: Thinking, traits: ClaudeTraits, isLost: boolean): WrittenThinking {
  const off = claudeOff(thinking, traits);
  return { thinking: off && { type: off.type }, effort: off?.effort, leastTokens: 1, isLost };
}

function asSaid({ mode, betweenTools, effort, budgetTokens, summary }: Thinking): WrittenThinking {
  const display = summary === undefined ? {} : { display: summary };
  const off = betweenTools === true ? 'between_tools' : 'disabled';
  const types = { on: 'enabled', off, adaptive: 'adaptive' } as const;
  const budget = budgetTokens === undefined ? {} : { budget_tokens: budgetTokens };
  const thinking = mode && { type: types[mode], ...budget, ...display };
  return { thinking, effort, leastTokens: 1, isLost: false };
}
