// The address of a client behind proxies that are trusted (`server.trusted_proxies`).
import { BlockList, isIP } from 'node:net';

/** Whether an address is one of a proxy that tells the truth about its client. */
export type TrustedProxies = (address: string) => boolean;

/** Proxies that a request can have passed; entries beyond are not looked at. */
const mostHops = 32;

/** `ranges`: addresses and CIDR ranges. Undefined for none. */
export function trustedProxies(ranges: readonly string[]): TrustedProxies | undefined {
  if (ranges.length === 0) return undefined;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    const family = familyOf(address);
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
}

/**
 * The address of the client: the socket's, unless that is of a trusted proxy. Then X-Forwarded-For is read from its end, each entry told
 * by the proxy after it, up to the first one that is not trusted; an entry that is no address ends the walk at the one before it. Without
 * X-Forwarded-For the `for` of Forwarded (RFC 7239) is read in the same way.
 */
export function clientAddressOf(
  socketAddress: string | undefined,
  rawHeaders: readonly string[],
  isTrusted: TrustedProxies | undefined,
): string | undefined {
  if (isTrusted === undefined || socketAddress === undefined || !isTrusted(socketAddress)) return socketAddress;
  let address = socketAddress;
  const entries = entriesOf(rawHeaders, 'x-forwarded-for') ?? entriesOf(rawHeaders, 'forwarded')?.map(forOf) ?? [];
  for (const entry of entries.slice(-mostHops).toReversed()) {
    const told = bareAddress(entry.trim());
    if (told === undefined) return address;
    address = told;
    if (!isTrusted(address)) return address;
  }
  return address;
}

/** The entries of all lines with this name, in order; undefined when there is no such line. */
function entriesOf(rawHeaders: readonly string[], name: string): string[] | undefined {
  const lines = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
  return lines.length === 0 ? undefined : lines.join(',').split(',');
}

/** The value of `for` in `for="[2001:db8::1]:4711";proto=https`; empty when there is none. */
function forOf(element: string): string {
  const parameter = element.split(';').find((text) => /^\s*for=/i.test(text));
  return parameter === undefined ? '' : parameter.slice(parameter.indexOf('=') + 1).replaceAll('"', '');
}

/** `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` or `[2001:db8::1]:80` without the port; undefined for anything else. */
function bareAddress(text: string): string | undefined {
  const [, inBrackets, withPort] = /^(?:\[([^\]]+)\](?::\d+)?|([^:]+):\d+)$/.exec(text) ?? [];
  const address = inBrackets ?? withPort ?? text;
  return isIP(address) === 0 ? undefined : address;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}
