// Which addresses of an identity provider are dialled: none of the metadata of a cloud, and private ones only where that is configured.
import { ADDRCONFIG, type LookupAddress, lookup as lookUp } from 'node:dns';
import { addressKind, hostKind } from '../../gitops/check/address-kind.ts';

type Done = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** Asks for all addresses of a name; tests replace it. */
export type Resolve = (name: string, done: Done) => void;

/** The address is one that is never dialled, or a private one that is not configured. */
export class AddressRefused extends Error {
  constructor() {
    super('the address is not allowed');
    this.name = 'AddressRefused';
  }
}

const byTheSystem: Resolve = (name, done) => lookUp(name, { all: true, hints: ADDRCONFIG }, done);
/** Hosts of this machine, as `new URL` writes them. */
const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

function isRefused(kind: ReturnType<typeof addressKind>, allowPrivate: boolean): boolean {
  return kind === 'forbidden' || (kind === 'private' && !allowPrivate);
}

/** Whether nobody on the way can read or change what is said: https, or http on this machine. */
export function isSafeUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname));
}

/** Throws `AddressRefused` for a host that is written as such an address. */
export function refuseHost({ hostname }: URL, allowPrivate: boolean): void {
  if (isRefused(hostKind(hostname), allowPrivate)) throw new AddressRefused();
}

/** `lookup` of a request: the addresses that are checked are those that are dialled. */
export function allowedLookup(allowPrivate: boolean, resolve: Resolve = byTheSystem) {
  return (name: string, _: object, done: Done): void => {
    resolve(name, (error, addresses) => {
      if (error !== null) return done(error, []);
      const allowed = addresses.filter((each) => !isRefused(addressKind(each.address), allowPrivate));
      return allowed.length === 0 ? done(new AddressRefused(), []) : done(null, allowed);
    });
  };
}
