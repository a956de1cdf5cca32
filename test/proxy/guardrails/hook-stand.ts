// A guardrail that asks a service over real sockets, without the line around it.
import type { Test } from 'tap';
import type { SaidText } from '../../../proxy/dialects/texts.ts';
import { type AskedSettings, askedChecks } from '../../../proxy/guardrails/asked.ts';
import type { CheckContext, Checks, Verdict } from '../../../proxy/guardrails/guardrail.ts';
import { Masks } from '../../../proxy/guardrails/masks.ts';
import type { Outside } from '../../../proxy/guardrails/outside.ts';
import { webhookAsk } from '../../../proxy/guardrails/webhook.ts';
import { createDeadlines } from '../../../proxy/upstream/deadlines.ts';
import { type Hook, Hooks } from '../../../proxy/upstream/hooks.ts';
import { createPools } from '../../../proxy/upstream/pools.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { nowMs } from '../stage-parts.ts';

export interface HookStand {
  readonly service: FakeUpstream;
  readonly hooks: Hooks;
  readonly hook: Hook;
  readonly checks: Checks;
  readonly context: CheckContext;
  /** What is said of these texts of the user. */
  readonly check: (...texts: string[]) => Promise<Verdict>;
}

export const said = (text: string): SaidText => ({ role: 'user', form: 'text', text });

/** A request of `/team` that may ask so. */
export function contextWith(outside: Outside): CheckContext {
  const caller = { requestId: 'req_1', userPath: '/team', model: 'chat' };
  return { ...caller, phase: 'input', masks: new Masks(), outside };
}

export async function hookStand(
  t: Test,
  given: Partial<Hook> = {},
  settings: Partial<AskedSettings> = {},
  gone?: AbortSignal,
): Promise<HookStand> {
  const service = await startFakeUpstream({ t });
  const pools = createPools(100);
  t.teardown(() => pools.closeFree());
  const hooks = new Hooks(pools, createDeadlines(nowMs));
  const { origin } = new URL(service.url);
  const limits = { connectTimeoutMs: 1_000, timeoutMs: 300, mostAtOnce: 4 };
  const hook = {
    name: 'webhook words',
    origin,
    path: '/check?a=b',
    headers: [],
    secret: undefined,
    ...limits,
    ...given,
  };
  const context = contextWith({
    askHook: (asked, body) => hooks.ask(asked, body, ['traceparent', 'of-the-line'], gone),
    askModel: () => Promise.reject(new Error('no model is asked')),
  });
  const checks = askedChecks(webhookAsk('words', hook), { fail: 'closed', window: 10, ...settings });
  const check = async (...texts: string[]): Promise<Verdict> => {
    const verdict = await checks.texts?.(texts.map(said), context);
    return verdict ?? { outcome: 'pass' };
  };
  return { service, hooks, hook, checks, context, check };
}
