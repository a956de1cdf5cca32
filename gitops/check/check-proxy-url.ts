// Checks the address of the HTTP proxy of a provider. It may hold a password, so no message quotes it.
import type { Provider } from '../../schemas/types.ts';
import type { Sources } from '../assemble/sources.ts';
import { refersToVariable } from '../read/expand.ts';
import { hostKind } from './address-kind.ts';
import type { ProviderFindings } from './check-keys.ts';

export function checkProxyUrl(name: string, provider: Provider, sources: Sources, findings: ProviderFindings): void {
  const path = ['providers', name, 'proxy_url'];
  const { proxy_url: text = '' } = provider;
  if (text === '' || sources.isUnknown(path)) return;
  const message = problemOfProxyUrl(text);
  if (message !== undefined) findings.problems.push(sources.problem(path, message));
  else if (new URL(text).password !== '' && !refersToVariable(String(sources.written(path)))) {
    const warning = `holds a password that is written out in the file; keep it in the environment and refer to it, as in http://user:\${PROXY_PASSWORD}@proxy:3128`;
    findings.warnings.push(sources.problem(path, warning));
  }
}

/** The mistake in the address of a proxy, as the end of a sentence. */
export function problemOfProxyUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || /[\s\\]/.test(text))
    return 'is not a URL; expected something like "http://proxy.internal:3128"';
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return 'must begin with http:// or https://, because only HTTP proxies are supported';
  if (!/^https?:\/\/[^/]/i.test(text)) return 'must have a host after http:// or https://';
  if (url.pathname !== '/' || url.search !== '' || text.includes('#'))
    return 'must end after the port: a proxy has no path, no query and no fragment';
  if (!isDecodable(url.username) || !isDecodable(url.password))
    return 'has credentials with a broken escape; write a percent sign as %25';
  if (hostKind(url.hostname) === 'forbidden')
    return 'is an address that the gateway never connects to: link-local, multicast, or the metadata of a cloud';
  return undefined;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
