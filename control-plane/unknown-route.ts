// The refusal of a request for which there is no route: an unknown path, or a path that has other methods.
import { type Refusal, refusal } from './errors.ts';

/** `url`: as it was registered, `/admin/auth-keys/:id`; at its end `*` stands for anything. */
export interface Route {
  readonly method: string | string[];
  readonly url: string;
}

/** 404 `route_not_found`, or 405 `method_not_allowed` with the methods of the path. */
export function refuseRoute(
  request: { readonly method: string; readonly url: string },
  routes: readonly Route[],
): Refusal {
  const path = pathOf(request.url);
  const methods = routes.filter((route) => matches(route.url, path)).flatMap((route) => route.method);
  if (methods.length === 0) return refusal('route_not_found', { fill: { method: request.method, path } });
  const allow = [...new Set(methods)].sort().join(', ');
  return refusal('method_not_allowed', { fill: { method: request.method, path, allow }, headers: { allow } });
}

/** The target of a request without its query. */
export function pathOf(url: string): string {
  return url.replace(/\?.*$/s, '');
}

function matches(pattern: string, path: string): boolean {
  const expected = pattern.split('/');
  const hasRest = expected.at(-1) === '*';
  if (hasRest) expected.pop();
  const actual = path.split('/');
  return (
    (hasRest ? expected.length < actual.length : expected.length === actual.length) &&
    expected.every((part, index) => part === actual[index] || (part.startsWith(':') && actual[index] !== ''))
  );
}
