// Opens connections to an origin, never to an address that is not allowed for it. What is checked is the address that is dialled: a name is
// resolved once for each connection, so that an answer which changes behind the check (DNS rebinding) changes nothing.
import { ADDRCONFIG, type LookupAddress, lookup } from 'node:dns';
import { type AddressKind, addressKind } from '../../gitops/address-kind.ts';
import { buildConnector, type Connector } from './undici.ts';

/** Asks for all addresses of a name. Calls back once. */
export type Resolve = (
  name: string,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** An address that was not dialled. */
export interface RefusedAddress {
  /** The provider; undefined: none. */
  readonly provider: string | undefined;
  readonly address: string;
  readonly kind: Exclude<AddressKind, 'open'>;
}

/** What connections are made with. */
export interface Network {
  readonly resolve: Resolve;
  /** Makes what opens sockets. */
  readonly connector: typeof buildConnector;
  /** Told of each refusal. */
  readonly refused: (refused: RefusedAddress) => void;
}

/** Of the operating system. */
export const systemNetwork: Network = {
  resolve: (name, done) => lookup(name, { all: true, hints: ADDRCONFIG }, done),
  connector: buildConnector,
  refused: () => undefined,
};

/** What decides whom a connection may reach. */
export interface Reach {
  /** The provider that is reached; undefined: none. */
  readonly name?: string | undefined;
  /** How long a connection may take to open, its name included. Milliseconds. */
  readonly connectTimeoutMs: number;
  /** Its addresses may be of a private network. */
  readonly allowsPrivate?: boolean | undefined;
}

/** `bounded` bounds what opens sockets; an address that is refused takes no place. */
export function dialler(
  { name: provider, connectTimeoutMs, allowsPrivate = false }: Reach,
  { resolve, connector, refused }: Network,
  bounded: (connect: Connector) => Connector,
): Connector {
  const isRefused = (address: string): boolean => {
    const kind = addressKind(address);
    if (kind === undefined || kind === 'open' || (kind === 'private' && allowsPrivate)) return false;
    refused({ provider, address, kind });
    return true;
  };
  const resolveAllowed = (
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
  const connect = bounded(
    // Both families are tried, the second soon after the first (RFC 8305).
    connector({ timeout: connectTimeoutMs, autoSelectFamily: true, lookup: resolveAllowed }),
  );
  return (options, done) => {
    // Of an address there is nothing to resolve.
    if (isRefused(options.hostname)) process.nextTick(done, notAllowed(), null);
    else connect(options, done);
  };
}

/** The code is Node's own for an address in a list that is blocked. */
function notAllowed(): NodeJS.ErrnoException {
  return Object.assign(new Error('the address is not allowed'), { code: 'ERR_IP_BLOCKED' });
}
