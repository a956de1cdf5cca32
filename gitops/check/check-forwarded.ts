// Checks of forward_headers: what must never go from a client to a provider.
import type { Config, Provider } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';

/** Headers with the client's credentials, and headers that belong to the connection, to the body or to the gateway itself. */
const kept = new Set(
  (
    'accept-encoding api-key authorization connection cookie cookie2 expect host keep-alive proxy-authenticate proxy-authorization ' +
    'proxy-connection set-cookie te trailer transfer-encoding upgrade x-api-key x-goog-api-key x-request-id x-upstream-request-id'
  ).split(' '),
);
const keptBeginnings = ['content-', 'sec-websocket-', 'x-gateway-'];

export function checkForwarded(
  name: string,
  { forward_headers: forwarded = [], headers }: Provider,
  { user_path_header: userPath, gateway_key_header: gatewayKey }: Config['server'],
  sources: Sources,
): Problem[] {
  const problems: Problem[] = [];
  const configured = new Set(Object.keys(headers).map((header) => header.toLowerCase()));
  const own = new Set([userPath.toLowerCase(), gatewayKey.toLowerCase()]);
  const seen = new Set<string>();
  forwarded.forEach((header, index) => {
    const path = ['providers', name, 'forward_headers', index];
    const folded = header.toLowerCase();
    const isKept = kept.has(folded) || own.has(folded) || keptBeginnings.some((part) => folded.startsWith(part));
    if (isKept) problems.push(sources.problem(path, `${quote(header)} never goes from a client to a provider`));
    else if (seen.has(folded)) problems.push(sources.problem(path, `${quote(header)} is in the list already`));
    else if (configured.has(folded)) {
      const message = `${quote(header)} has a value under headers (${sources.place(['providers', name, 'headers'], 'key')}), which a client cannot replace`;
      problems.push(sources.problem(path, message));
    }
    seen.add(folded);
  });
  return problems;
}
