// A configuration as it can be compiled on a machine that has none of its variables.
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';

const nowhere = 'https://unset.invalid/v1';

/** A variable that is not set on this machine leaves a text that is no address; nothing is sent anywhere here. */
export function plannable(config: AssembledConfig): AssembledConfig {
  const providers = Object.entries(config.providers).map(([name, provider]) => {
    const { base_url: address, proxy_url: _, ...rest } = provider;
    return [name, { ...rest, ...(address === undefined ? {} : { base_url: usable(address) }) }];
  });
  const guardrails = config.guardrails.map((guardrail) => {
    const { webhook } = guardrail;
    return webhook === undefined ? guardrail : { ...guardrail, webhook: { ...webhook, url: usable(webhook.url) } };
  });
  return { ...config, providers: Object.fromEntries(providers) as AssembledConfig['providers'], guardrails };
}

function usable(address: string): string {
  return URL.canParse(address) ? address : nowhere;
}
