// The address of a provider: that of its type where the file names none, and what is wrong with one that it names.
import { defaultAddresses, exampleAddresses } from '../../schemas/provider-addresses.ts';
import type { Provider } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import { refersToVariable } from '../read/expand.ts';
import type { Problem } from '../read/problem.ts';
import { hostKind } from './address-kind.ts';

/** A provider as a file has it. */
type Written = Omit<Provider, 'base_url'> & { base_url?: string };

const examples: Partial<Record<Provider['type'], string>> = exampleAddresses;

/** Fills in the address of the type where there is none, and gives what is wrong with the address. */
export function settleBaseUrl(name: string, provider: Written, sources: Sources): Problem[] {
  const { type, base_url: given = defaultAddresses[type] } = provider;
  if (given === undefined) return [sources.problem(['providers', name, 'type'], needsAddress(type))];
  provider.base_url = given;
  const path = ['providers', name, 'base_url'];
  if (sources.isUnknown(path)) return [];
  const message =
    problemOfBaseUrl(given, refersToVariable(String(sources.written(path)))) ?? problemOfAddress(given, provider);
  return message === undefined ? [] : [sources.problem(path, message)];
}

function needsAddress(type: Provider['type']): string {
  return `${quote(type)} has no address that is the same for everyone, so base_url is needed beside it, such as "${examples[type]}"`;
}

/** An address in place of a name is known before it is dialled. */
function problemOfAddress(text: string, { allow_private }: Written): string | undefined {
  const kind = hostKind(new URL(text).hostname);
  if (kind === 'forbidden')
    return 'is an address that the gateway never connects to: link-local, multicast, or the metadata of a cloud';
  if (kind !== 'private' || allow_private) return undefined;
  return 'is an address of a private network; write allow_private: true for this provider if it is meant';
}

function problemOfBaseUrl(text: string, isHidden: boolean): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || /[\s\\]/.test(text))
    return 'is not a URL; expected something like "https://api.openai.com/v1"';
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return `must begin with http:// or https://${isHidden ? '' : `, found ${quote(url.protocol)}`}`;
  if (!/^https?:\/\/[^/]/i.test(text)) return 'must have a host after http:// or https://';
  if (url.username !== '' || url.password !== '') return 'must not hold credentials; use api_key';
  return text.includes('#') ? 'must not have a fragment (#...)' : undefined;
}
