// Opens connections to an origin, never to an address that is not allowed for it. What is checked is the address that is dialled: a name is
// resolved once for each connection, so that an answer which changes behind the check (DNS rebinding) changes nothing.
import { ADDRCONFIG, type LookupAddress, lookup as lookUp } from 'node:dns';
import type { SecureContext } from 'node:tls';
import { type AddressKind, addressKind } from '../../../gitops/check/address-kind.ts';
import { buildConnector, type Connector } from '../undici.ts';
import { type NameTimes, nameTimes, type Resolve } from './names.ts';
import { type Authorities, contextOf } from './trust.ts';
import { type HttpProxy, tunnelConnector } from './tunnel.ts';

/** An address that was not dialled. */
export interface RefusedAddress {
  /** The provider; undefined: none. */
  readonly provider: string | undefined;
  readonly address: string;
  readonly kind: Exclude<AddressKind, 'open'>;
}

/** The parts that make connections; tests replace them. */
export interface Network {
  readonly resolve: Resolve;
  readonly names: NameTimes;
  /** The interval at which names are resolved again, in milliseconds. */
  readonly lookMs: number;
  /** Makes what opens sockets. */
  readonly connector: typeof buildConnector;
  /** Told of each refusal. */
  readonly refused: (refused: RefusedAddress) => void;
}

/** Of the operating system. */
export const systemNetwork: Network = {
  resolve: (name, done) => lookUp(name, { all: true, hints: ADDRCONFIG }, done),
  names: nameTimes,
  lookMs: 30_000,
  connector: buildConnector,
  refused: () => undefined,
};

/** The limits on the addresses that a connection may reach. */
export interface Reach {
  /** The provider that is reached; undefined: none. */
  readonly name?: string | undefined;
  /** How long a connection may take to open, its name included. Milliseconds. */
  readonly connectTimeoutMs: number;
  /** Its addresses may be of a private network. */
  readonly allowsPrivate?: boolean | undefined;
  /** The proxy on the way; undefined: none. Its own address may be private: operators put proxies there. */
  readonly proxy?: HttpProxy | undefined;
  /** Trusted besides the authorities of the system; undefined: none. */
  readonly authorities?: Authorities | undefined;
}

/**
 * Returns a connector that refuses forbidden addresses before a socket is opened; failures go to its callback.
 * `bounded` limits the number of sockets. Behind a proxy, which resolves the provider's name itself, only the proxy's
 * address is checked, and a provider given by address.
 */
export function dialler(reach: Reach, network: Network, bounded: (connect: Connector) => Connector): Connector {
  const { connectTimeoutMs, proxy, authorities } = reach;
  const isRefused = refusal(reach, network);
  if (proxy === undefined) return checked(isRefused, bounded(opener(reach, network, isRefused)));
  const isProxyRefused = refusal({ ...reach, allowsPrivate: true }, network);
  const toProxy = checked(isProxyRefused, bounded(opener(reach, network, isProxyRefused)));
  const secure = network.connector({ timeout: connectTimeoutMs, ...trusting(authorities) });
  return checked(isRefused, tunnelConnector(proxy, { toProxy, secure }, connectTimeoutMs));
}

/** Says whether an address may not be dialled, and tells of it. */
function refusal({ name: provider, allowsPrivate = false }: Reach, { refused }: Network): (address: string) => boolean {
  return (address) => {
    const kind = addressKind(address);
    if (kind === undefined || kind === 'open' || (kind === 'private' && allowsPrivate)) return false;
    refused({ provider, address, kind });
    return true;
  };
}

/** Of an address there is nothing to resolve, so it is checked before. */
function checked(isRefused: (address: string) => boolean, connect: Connector): Connector {
  return (options, done) => {
    if (isRefused(options.hostname)) process.nextTick(done, notAllowed(), null);
    else connect(options, done);
  };
}

/** Opens sockets to those addresses of a name that are allowed. */
function opener(
  { connectTimeoutMs, authorities }: Reach,
  { resolve, connector }: Network,
  isRefused: (address: string) => boolean,
): Connector {
  const lookup = (
    host: string,
    _options: object,
    done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
  ): void => {
    resolve(host, (error, addresses) => {
      if (error !== null) return done(error, []);
      const allowed = addresses.filter(({ address }) => !isRefused(address));
      return allowed.length === 0 ? done(notAllowed(), []) : done(null, allowed);
    });
  };
  // Both families are tried, the second soon after the first (RFC 8305).
  return connector({ timeout: connectTimeoutMs, autoSelectFamily: true, lookup, ...trusting(authorities) });
}

function trusting(authorities: Authorities | undefined): { secureContext?: SecureContext } {
  return authorities === undefined ? {} : { secureContext: contextOf(authorities) };
}

/** The code is Node's own for an address in a list that is blocked. */
function notAllowed(): NodeJS.ErrnoException {
  return Object.assign(new Error('the address is not allowed'), { code: 'ERR_IP_BLOCKED' });
}
