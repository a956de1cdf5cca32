// The known routes: a request for any other one is refused before anything else reads it.
import { type Refusal, refusal } from '../errors.ts';

export interface KnownRoute {
  /** A path, or the beginning of one and `*`; a segment that begins with `:` stands for any. */
  readonly path: string;
  readonly method: string;
}

/** Undefined when there is such a route; else 405 with the methods that work here, or 404. */
export function noRoute(method: string, path: string, known: readonly KnownRoute[]): Refusal | undefined {
  const matching = known.filter((route) => isUnder(path, route.path));
  if (matching.some((route) => route.method === method)) return undefined;
  const shown = { method, path };
  if (matching.length === 0) return refusal('route_not_found', { fill: shown });
  const allow = [...new Set(matching.map((route) => route.method))].join(', ');
  return refusal('method_not_allowed', { fill: { ...shown, allow }, headers: { allow } });
}

/**
 * For a client that would try again after any other status: some clients of Responses fall back to HTTP at a 426 alone. RFC 9110, 15.5.22: it
 * says what is spoken instead.
 */
export function noWebSocket(path: string): Refusal {
  return refusal('upgrade_not_supported', { fill: { path }, headers: { upgrade: 'HTTP/1.1' } });
}

/** Whether a path is the one of a route, or begins with it when that ends with `*`. */
export function isUnder(path: string, route: string): boolean {
  if (route.includes('/:')) return fits(path.split('/'), route.split('/'));
  return path === route || (route.endsWith('*') && path.startsWith(route.slice(0, -1)));
}

function fits(path: readonly string[], route: readonly string[]): boolean {
  if (path.length !== route.length) return false;
  return route.every((segment, index) => (segment.startsWith(':') ? path[index] !== '' : path[index] === segment));
}
