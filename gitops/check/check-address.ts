// The address of a provider: that of its type where the file names none, and what is wrong with one that it names.
import { defaultAddresses, exampleAddresses } from '../../schemas/provider-addresses.ts';
import type { Provider } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import { refersToVariable } from '../read/expand.ts';
import type { Problem } from '../read/problem.ts';
import { hostKind } from './address-kind.ts';

interface Found {
  readonly problems: Problem[];
  readonly warnings: Problem[];
}

/** A provider as a file has it. */
type Written = Omit<Provider, 'base_url'> & { base_url?: string };

const examples: Partial<Record<Provider['type'], string>> = exampleAddresses;

/** Fills in the address of the type where there is none, and says what is wrong or doubtful with the address. */
export function checkAddress(name: string, provider: Written, sources: Sources, { problems, warnings }: Found): void {
  const { type, base_url: given = defaultAddresses[type] } = provider;
  if (given === undefined) {
    problems.push(sources.problem(['providers', name, 'type'], needsAddress(type)));
    return;
  }
  const isDefault = provider.base_url === undefined;
  provider.base_url = given;
  const path = ['providers', name, 'base_url'];
  if (isDefault || sources.isUnknown(path)) return;
  const isHidden = refersToVariable(String(sources.written(path)));
  const message = problemOfAddress(given, provider, isHidden);
  if (message !== undefined) problems.push(sources.problem(path, message));
  else {
    const doubt = doubtOfPath(given, type, isHidden);
    if (doubt !== undefined)
      warnings.push({ ...sources.problem(path, doubt), ...(isHidden ? { environmental: true } : {}) });
  }
}

/** The end of an address that the gateway adds itself. */
const endpoint =
  /\/(?:(?:chat\/)?completions|embeddings|responses|messages|moderations|rerank|realtime|audio\/[a-z]+|images\/[a-z]+|models\/[^/]+:[a-z]+|model\/[^/]+\/[a-z-]+)\/*$/i;
/** A segment such as /v1 or /v1beta. */
const version = /\/v[0-9]/;

/**
 * Whether the gateway would find nothing at the address. At the host of a known API the version is needed; at another one an address without any
 * path is doubtful, unless a slash at its end says that the API is at the top.
 */
function doubtOfPath(text: string, type: Provider['type'], isHidden: boolean): string | undefined {
  const { host, pathname } = new URL(text);
  const [found] = endpoint.exec(pathname) ?? [];
  if (found !== undefined) {
    const [bare = '', ...query] = text.split('?');
    const meant = isHidden ? '' : `; write ${[bare.slice(0, bare.lastIndexOf(found)), ...query].join('?')}`;
    return `ends with the path of an endpoint (${found.replace(/\/+$/, '')}), which the gateway adds itself${meant}`;
  }
  const known = Object.values(defaultAddresses).find(
    (address) => address !== undefined && new URL(address).host === host,
  );
  const wanted = new URL(known ?? defaultAddresses[type] ?? 'http://none').pathname;
  if (!version.test(wanted) || version.test(pathname)) return undefined;
  if (known !== undefined) return `lacks the version of the API; write ${known}`;
  if (!/^https?:\/\/[^/?]+$/i.test(text)) return undefined;
  const meant = isHidden ? 'add it' : `write ${text}${wanted}`;
  return `lacks the version of the API, which most servers have at ${wanted}; ${meant}, or a slash at the end if the API is at the top`;
}

function needsAddress(type: Provider['type']): string {
  return `${quote(type)} has no address that is the same for everyone, so base_url is needed beside it, such as "${examples[type]}"`;
}

/** The mistake in an address, as the end of a sentence. `isHidden`: it may hold a secret, so nothing of it is repeated. */
export function problemOfAddress(
  text: string,
  provider: Pick<Provider, 'allow_private'>,
  isHidden: boolean,
): string | undefined {
  return problemOfBaseUrl(text, isHidden) ?? problemOfHost(text, provider);
}

/** An address in place of a name is known before it is dialled. */
function problemOfHost(text: string, { allow_private }: Pick<Provider, 'allow_private'>): string | undefined {
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
