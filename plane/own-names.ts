// Without a master key everyone who reaches the gateway is let in, so a page in a browser must not reach it: neither by a name that its
// owner has pointed at this machine (DNS rebinding), nor with a write across origins.

/** As much of a request as tells whether a foreign page may have sent it; undefined: the header is not there. */
export interface Reached {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The address of this machine that the connection came in on. */
  readonly localAddress: string | undefined;
}

/** Names that stand for every interface: nothing can be addressed by them. */
const anyAddress = new Set(['0.0.0.0', '::']);

/** The names this machine may be addressed by besides its addresses: `localhost`, the bound host and the machine's own name; folded. */
export function ownNames(boundHost: string, machine: string): ReadonlySet<string> {
  const names = ['localhost', '127.0.0.1', '::1', machine.toLowerCase(), boundHost.toLowerCase()];
  return new Set(names.filter((name) => name !== '' && !anyAddress.has(name)));
}

/**
 * Why the request is not served without a master key: `host`, the name it was sent to is not one of this machine; `origin`, it writes
 * and a page of another origin sent it. Undefined: it is served. A request without Host (HTTP/1.0) does not come from a browser.
 */
export function foreignPart(request: Reached, names: ReadonlySet<string>): 'host' | 'origin' | undefined {
  const { method, host, origin, localAddress } = request;
  if (host !== undefined && !isOwn(nameOf(host), names, localAddress)) return 'host';
  const isWrite = method !== 'GET' && method !== 'HEAD';
  return isWrite && origin !== undefined && authorityOf(origin) !== host?.toLowerCase() ? 'origin' : undefined;
}

function isOwn(name: string, names: ReadonlySet<string>, localAddress: string | undefined): boolean {
  // IPv4 shows as ::ffff:127.0.0.1 on a socket that takes both.
  return names.has(name) || (name !== '' && name === localAddress?.replace(/^::ffff:/i, '').toLowerCase());
}

/** The host of an authority, folded, without brackets, port and final dot; empty when it is none. */
function nameOf(authority: string): string {
  const found = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+?)\.?)(?::\d*)?$/i.exec(authority);
  return (found?.[1] ?? found?.[2] ?? '').toLowerCase();
}

/** `http://localhost:8080` → `localhost:8080`; undefined for `null`, which is what a page without an origin sends. */
function authorityOf(origin: string): string | undefined {
  return /^[a-z][a-z0-9+.-]*:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase();
}
