// Writes how much a model shall think, in the three ways that servers of chat know.
import { leastClaudeBudget } from '../claude/claude-thinking.ts';
import type { ConversationRequest, Thinking } from '../conversation/conversation.ts';
import { effortOfBudget } from '../conversation/effort.ts';
import { budgetWithin } from '../conversation/thinking-budget.ts';
import type { JsonObject } from '../json/json.ts';
import type { Writing } from './writing.ts';

/** The members that ask for thoughts, in the spelling of the server; budgets in tokens. Losses are hints. */
export function writeThinking({ thinking, maxTokens }: ConversationRequest, writing: Writing): JsonObject {
  if (thinking === undefined) return {};
  const { quirks, isOwn } = writing;
  if (quirks.thinking === 'none') {
    if (thinking.mode !== 'off') writing.hint('thinking');
    return {};
  }
  if (quirks.thinking === 'reasoning') {
    const asked = thinking.budgetTokens;
    // The models behind it whose budgets are told want an answer that may be longer.
    const budget = asked === undefined ? undefined : budgetWithin(asked, maxTokens, Math.min(asked, leastClaudeBudget));
    const isLost = asked !== undefined && budget === undefined;
    if (isLost) writing.hint('thinking');
    return isLost ? {} : { reasoning: reasoningOf({ ...thinking, budgetTokens: budget }) };
  }
  if (isOwn) return ownWords(thinking);
  if (quirks.isInventor === true && !writing.isOwnThinker) {
    if (thinking.mode !== 'off') writing.hint('thinking');
    return {};
  }
  const effort = effortOf(thinking, writing);
  return effort === undefined ? {} : { reasoning_effort: effort };
}

/** As OpenRouter has it. */
function reasoningOf({ mode, effort, budgetTokens, summary }: Thinking): JsonObject {
  if (mode === 'off') return { enabled: false };
  const isBounded = budgetTokens !== undefined;
  return {
    enabled: effort === undefined && !isBounded && mode !== undefined ? true : undefined,
    // One of both is allowed.
    effort: isBounded ? undefined : effort === 'max' ? 'xhigh' : effort,
    max_tokens: budgetTokens,
    exclude: summary === 'omitted' ? true : undefined,
  };
}

/** The words of a client of chat, as it may have said them. */
function ownWords({ mode, betweenTools, effort, budgetTokens, summary }: Thinking): JsonObject {
  if (betweenTools === true) return { reasoning_effort: effort, thinking: { type: 'between_tools' } };
  if (mode === 'off') return { reasoning_effort: 'none' };
  const type = mode === 'adaptive' ? 'adaptive' : 'enabled';
  const hasBudget = budgetTokens !== undefined;
  return {
    reasoning_effort: effort,
    thinking: mode === undefined && !hasBudget ? undefined : { type, budget_tokens: budgetTokens },
    reasoning: summary === undefined ? undefined : summary === 'omitted' ? { exclude: true } : { summary },
  };
}

/** The nearest effort that the server knows. A budget of tokens counts by its size. */
function effortOf({ mode, effort, budgetTokens }: Thinking, writing: Writing): string | undefined {
  const { model, isOwnThinker } = writing;
  if (mode === 'off') {
    const isKnown = isOwnThinker ? /^gpt-5\.\d/.test(model) : writing.quirks.thinking === 'reasoning_effort';
    if (isKnown) return 'none';
    writing.hint('thinking');
    if (!isOwnThinker) return undefined;
    return model.startsWith('o') ? 'low' : 'minimal';
  }
  if (budgetTokens !== undefined && effort === undefined) {
    writing.hint('thinking');
    return effortOfBudget(budgetTokens);
  }
  if (effort === undefined) return mode === undefined ? undefined : 'medium';
  const known = knownEffort(effort, writing);
  if (known !== effort) writing.hint('thinking');
  return known;
}

function knownEffort(effort: string, { model, isOwnThinker }: Writing): string {
  const isLater = isOwnThinker && /^gpt-5\.(?:[2-9]|\d\d|1-codex-max)/.test(model);
  if (effort === 'xhigh' || effort === 'max') return isLater ? 'xhigh' : 'high';
  if (effort === 'minimal') return /^gpt-5(?!\.)/.test(model) && isOwnThinker ? 'minimal' : 'low';
  return effort;
}
