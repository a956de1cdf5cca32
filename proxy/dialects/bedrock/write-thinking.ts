// Writes how much Claude shall think. The members are Anthropic's own; other models of Bedrock take none of them.
import { claudeBudgetOf, claudeEffortOf, claudeOff, isForced, lacksThoughts } from '../claude/claude-thinking.ts';
import type { ConversationRequest, Thinking } from '../conversation/conversation.ts';
import type { JsonObject } from '../json/json.ts';
import type { Writing } from './writing.ts';

export interface WrittenThinking {
  /** Further members of the request. */
  readonly fields: JsonObject;
  readonly isOn: boolean;
}

/** The members that switch thinking on or off; undefined when the model needs none. */
export function writeThinking(request: ConversationRequest, writing: Writing): WrittenThinking | undefined {
  const { thinking, toolChoice, tools, turns } = request;
  if (thinking === undefined) return undefined;
  const { mode, effort, budgetTokens } = thinking;
  const { canThink, thinksAdaptively, alwaysThinks } = writing.traits;
  if (mode === 'off') {
    if (alwaysThinks) writing.hint('thinking');
    return turnedOff(thinking, writing);
  }
  if (mode === undefined && effort === undefined && budgetTokens === undefined) return undefined;
  // Claude refuses to think where a tool is forced, and with a budget where it called one without a thought that it signed.
  const isRefused = (isForced(toolChoice) && tools.length > 0) || (!thinksAdaptively && lacksThoughts(turns));
  const budget = claudeBudgetOf(thinking, request.maxTokens);
  if (canThink && !isRefused && thinksAdaptively) return adaptive(thinking, writing);
  if (canThink && !isRefused && budget !== undefined) return within(budget);
  writing.hint('thinking');
  return turnedOff(thinking, writing);
}

function turnedOff(thinking: Thinking, { traits }: Writing): WrittenThinking | undefined {
  const off = claudeOff(thinking, traits);
  if (off === undefined) return undefined;
  const { type, effort } = off;
  return {
    fields: { thinking: { type }, ...(effort === undefined ? {} : { output_config: { effort } }) },
    isOn: false,
  };
}

function within(budget: number): WrittenThinking {
  return { fields: { thinking: { type: 'enabled', budget_tokens: budget } }, isOn: true };
}

function adaptive(thinking: Thinking, { traits }: Writing): WrittenThinking {
  const effort = claudeEffortOf(thinking, traits);
  const told = effort === undefined ? {} : { output_config: { effort } };
  return { fields: { thinking: { type: 'adaptive', ...display(thinking.summary) }, ...told }, isOn: true };
}

function display(summary: string | undefined): JsonObject {
  if (summary === undefined) return {};
  return { display: summary === 'omitted' ? 'omitted' : 'summarized' };
}
