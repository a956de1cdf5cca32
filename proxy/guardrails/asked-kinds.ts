// The guardrails of the configuration that ask a service or a model, compiled.
import type { Guardrail as WrittenGuardrail } from '../../schemas/types.ts';
import type { Hook } from '../upstream/hooks.ts';
import { askedChecks } from './asked.ts';
import type { Checks } from './guardrail.ts';
import { llmAsk } from './llm.ts';
import { webhookAsk } from './webhook.ts';

/** How long a connection to a service may take to open, if the question has so long. Milliseconds. */
const longestConnectMs = 2_000;

/** Written with the form of the schema. */
type Written<Kind extends 'webhook' | 'llm'> = Pick<WrittenGuardrail, 'name'> & {
  readonly [Key in Kind]: NonNullable<WrittenGuardrail[Key]>;
};

/** The service of a webhook; its URL is valid. */
export function hookOf({ name, webhook }: Written<'webhook'>): Hook {
  const { headers, secret, timeout_ms: timeoutMs, max_concurrent: mostAtOnce, allow_private: allowsPrivate } = webhook;
  const { origin, pathname, search } = new URL(webhook.url);
  return Object.freeze({
    name: `webhook ${name}`,
    origin,
    path: `${pathname}${search}`,
    headers: Object.freeze(Object.entries(headers).flat()),
    secret,
    timeoutMs,
    mostAtOnce,
    allowsPrivate,
    connectTimeoutMs: Math.min(timeoutMs, longestConnectMs),
  });
}

/** `hook`: the service of the webhook. */
export function webhookChecks({ name, webhook }: Written<'webhook'>, hook: Hook): Checks {
  return askedChecks(webhookAsk(name, hook), webhook);
}

export function llmChecks({ name, llm }: Written<'llm'>): Checks {
  const { model, prompt, action, timeout_ms: timeoutMs } = llm;
  return askedChecks(llmAsk({ name, model, prompt, action, timeoutMs }), llm);
}
