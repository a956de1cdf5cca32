// The guardrails that look at a request as a whole: system_prompt and limits.
import type { Guardrail } from '../../../schemas/types.ts';
import { type Checks, pass } from '../guardrail.ts';

/** Puts words into the system prompt. A request of a form without one is flagged. */
export function systemPromptChecks({ mode, text }: NonNullable<Guardrail['system_prompt']>): Checks {
  return {
    request: (request) =>
      request.say(mode, text) ? { outcome: 'revise' } : { outcome: 'flag', reason: 'no_system_prompt' },
  };
}

/** How large a request may be, and what it may ask for. The reason is the name of the limit. */
export function limitsChecks(limits: NonNullable<Guardrail['limits']>): Checks {
  const { max_prompt_characters: longest, max_tools: mostTools, allowed_tools: allowed, max_tokens: most } = limits;
  const names = allowed === undefined ? undefined : new Set(allowed);
  return {
    request(request) {
      if (longest !== undefined && request.texts.reduce((sum, { text }) => sum + text.length, 0) > longest) {
        return { outcome: 'block', reason: 'max_prompt_characters' };
      }
      if (mostTools !== undefined && request.tools.length > mostTools) return { outcome: 'block', reason: 'max_tools' };
      if (names !== undefined && !request.tools.every((name) => names.has(name))) {
        return { outcome: 'block', reason: 'allowed_tools' };
      }
      if (most === undefined || (request.maxTokens ?? Number.POSITIVE_INFINITY) <= most) return pass;
      if (limits.when_above === 'block') {
        return request.maxTokens === undefined ? pass : { outcome: 'block', reason: 'max_tokens' };
      }
      return { outcome: 'revise', reason: 'max_tokens', leftOut: request.capTokens(most) };
    },
  };
}
