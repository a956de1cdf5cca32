// Which addresses a gateway may connect to for a provider: a table of the ranges that are never dialled, and of those that are only with
// `allow_private`. A list of `node:net` does the arithmetic, so that IPv4 addresses mapped into IPv6 are found too.
import { BlockList, isIP } from 'node:net';

/**
 * `forbidden`: never dialled. `private`: a network of one's own, dialled with `allow_private`. `open`: all others, those of this machine
 * included.
 */
export type AddressKind = 'open' | 'private' | 'forbidden';

/** First address, length of the prefix. */
type Range = readonly [address: string, prefix: number];

const forbiddenV4: readonly Range[] = [
  // "This network" (RFC 1122, 3.2.1.3); Linux takes 0.0.0.0 for the machine itself.
  ['0.0.0.0', 8],
  // Link-local (RFC 3927): the metadata of AWS, Azure, Google, Oracle, OpenStack and others, and the credentials of ECS and EKS.
  ['169.254.0.0', 16],
  // Metadata of Alibaba Cloud; the rest of 100.64.0.0/10 is private.
  ['100.100.100.200', 32],
  // The host agent of Azure (WireServer): hands out the goal state of the machine, certificates included.
  ['168.63.129.16', 32],
  // IETF protocol assignments (RFC 6890); Oracle Cloud had its metadata at 192.0.0.192.
  ['192.0.0.0', 24],
  // Multicast (RFC 5771), reserved (RFC 1112, 4) and broadcast (RFC 919).
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

const privateV4: readonly Range[] = [
  // RFC 1918
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  // Behind the NAT of a carrier (RFC 6598); VPNs such as Tailscale use it.
  ['100.64.0.0', 10],
  // Benchmarks of networks (RFC 2544); some resolvers give made-up addresses of it.
  ['198.18.0.0', 15],
];

const forbiddenV6: readonly Range[] = [
  // Unspecified (RFC 4291, 2.5.2).
  ['::', 128],
  // Link-local (RFC 4291, 2.5.6).
  ['fe80::', 10],
  // Metadata and other services for a machine: AWS, Google, Oracle, Scaleway.
  ['fd00:ec2::', 32],
  ['fd20:ce::254', 128],
  ['fd00:c1::a9fe:a9fe', 128],
  ['fd00:42::42', 128],
  // Teredo (RFC 4380) hides an IPv4 address in other bits.
  ['2001::', 32],
  // Multicast (RFC 4291, 2.7).
  ['ff00::', 8],
];

const privateV6: readonly Range[] = [
  // Unique local (RFC 4193), and what was site-local before (RFC 3879).
  ['fc00::', 7],
  ['fec0::', 10],
  // A NAT64 of one's own (RFC 8215).
  ['64:ff9b:1::', 48],
];

/** Also every IPv6 form that leads to an IPv4 address: NAT64 (RFC 6052), 6to4 (RFC 3056) and IPv4-compatible (RFC 4291, 2.5.5.1). */
function listOf(v4: readonly Range[], v6: readonly Range[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of v4) {
    const hex = address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'));
    const words = `${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`;
    list.addSubnet(address, prefix, 'ipv4');
    list.addSubnet(`64:ff9b::${words}`, 96 + prefix, 'ipv6');
    list.addSubnet(`2002:${words}::`, 16 + prefix, 'ipv6');
    // All of ::/104 would hold ::1, the machine itself.
    if (address !== '0.0.0.0') list.addSubnet(`::${words}`, 96 + prefix, 'ipv6');
  }
  for (const [address, prefix] of v6) list.addSubnet(address, prefix, 'ipv6');
  return list;
}

const forbidden = listOf(forbiddenV4, forbiddenV6);
const ofPrivateNetworks = listOf(privateV4, privateV6);

/** The kind of an address, in any of its spellings that `node:net` knows; undefined when it is none, but a name. */
export function addressKind(address: string): AddressKind | undefined {
  const version = isIP(address);
  if (version === 0) return undefined;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  // Of a scoped address (`fe80::1%eth0`) the zone says nothing about the kind.
  const [bare = ''] = address.split('%');
  if (forbidden.check(bare, family)) return 'forbidden';
  return ofPrivateNetworks.check(bare, family) ? 'private' : 'open';
}

/**
 * `addressKind` of the host of a URL, which has brackets around IPv6, and in which `new URL` has resolved all odd
 * spellings of IPv4.
 */
export function hostKind(hostname: string): AddressKind | undefined {
  return addressKind(hostname.startsWith('[') ? hostname.slice(1, -1) : hostname);
}
