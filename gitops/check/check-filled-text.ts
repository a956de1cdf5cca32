// Checks a text once its secrets are filled in: what a file or a vault gives may still be no key and no address.
import { webhookProblem } from '../../domain/guardrails/mistakes.ts';
import type { AssembledConfig, SecretText } from '../assemble/assembled.ts';
import { problemOfAddress } from './check-address.ts';
import { problemOfKey } from './check-keys.ts';
import { problemOfProxyUrl } from './check-proxy-url.ts';

/** The mistake, as the end of a sentence that repeats nothing of the text. */
export function problemOfFilled(
  { section, name, at }: SecretText,
  filled: string,
  { providers }: Pick<AssembledConfig, 'providers'>,
): string | undefined {
  const [member, second] = at;
  if (section === 'guardrails') return second === 'url' ? webhookProblem(filled) : undefined;
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (provider === undefined) return undefined;
  switch (member) {
    case 'api_key':
    case 'api_keys':
      return problemOfKey(filled, provider);
    case 'base_url':
      return problemOfAddress(filled, provider, true);
    case 'proxy_url':
      return problemOfProxyUrl(filled);
    default:
      return undefined;
  }
}
