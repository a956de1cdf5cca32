// Protects a gateway without a master key from web pages: from a foreign host name that resolves to this machine (DNS rebinding), and
// from writes of another origin.

/** The facts of a request that show whether a page of another origin sent it; undefined: the header is absent. */
export interface Reached {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The address of this machine that the connection came in on. */
  readonly localAddress: string | undefined;
}

/** Addresses that mean every interface; a client cannot send a request to them. */
const anyAddress = new Set(['0.0.0.0', '::']);

/** The names of this machine in a `Host` header, in lower case: `localhost`, the bound host and the machine's name. */
export function ownNames(boundHost: string, machine: string): ReadonlySet<string> {
  const names = ['localhost', '127.0.0.1', '::1', machine.toLowerCase(), boundHost.toLowerCase()];
  return new Set(names.filter((name) => name !== '' && !anyAddress.has(name)));
}

/**
 * Why the request is not served without a master key. `host`: its `Host` is not a name of this machine. `origin`: it writes, and a page
 * of another origin sent it. Undefined: it is served. A request without `Host` (HTTP/1.0) does not come from a browser.
 */
export function foreignPart(request: Reached, names: ReadonlySet<string>): 'host' | 'origin' | undefined {
  const { method, host, origin, localAddress } = request;
  if (host !== undefined && !isOwn(nameOf(host), names, localAddress)) return 'host';
  const isWrite = method !== 'GET' && method !== 'HEAD';
  return isWrite && origin !== undefined && authorityOf(origin) !== host?.toLowerCase() ? 'origin' : undefined;
}

function isOwn(name: string, names: ReadonlySet<string>, localAddress: string | undefined): boolean {
  // A socket for IPv4 and IPv6 reports an IPv4 address as ::ffff:127.0.0.1.
  return names.has(name) || (name !== '' && name === localAddress?.replace(/^::ffff:/i, '').toLowerCase());
}

/** The host of an authority in lower case, without brackets, port and final dot; empty when the text is not an authority. */
function nameOf(authority: string): string {
  const found = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+?)\.?)(?::\d*)?$/i.exec(authority);
  return (found?.[1] ?? found?.[2] ?? '').toLowerCase();
}

/** `http://localhost:8080` → `localhost:8080`; undefined for `null`, which a page without an origin sends. */
function authorityOf(origin: string): string | undefined {
  return /^[a-z][a-z0-9+.-]*:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase();
}
