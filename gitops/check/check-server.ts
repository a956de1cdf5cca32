// Checks of the server section that the schema cannot express: header names, addresses and origins.
import { isIP } from 'node:net';
import { timeZone } from '../../domain/records/time-zone.ts';
import type { Config } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';

/** Headers with another meaning. Some hold a secret, which a user path would show. */
const taken = new Set(
  (
    'api-key authorization connection content-encoding content-length content-type cookie expect host proxy-authorization ' +
    'transfer-encoding x-api-key x-gateway-client-address x-gateway-explain x-goog-api-key x-request-id'
  ).split(' '),
);

/** Checks the headers of the user path and of the key, the trusted proxies and the origins. */
export function checkServer(server: Config['server'], sources: Sources): Problem[] {
  return [
    ...checkOwnHeaders(server, sources),
    ...checkTimeZone(server.time_zone, sources),
    ...checkEach(['server', 'trusted_proxies'], server.trusted_proxies, problemOfRange, sources),
    ...checkEach(['server', 'cors', 'origins'], server.cors.origins, problemOfOrigin, sources),
  ];
}

function checkOwnHeaders({ user_path_header, gateway_key_header }: Config['server'], sources: Sources): Problem[] {
  const problems: Problem[] = [];
  const check = (setting: string, name: string, example: string): void => {
    const path = ['server', setting];
    if (!taken.has(name.toLowerCase()) || sources.isUnknown(path)) return;
    const message = `${quote(name)} has another meaning; use a header of its own, such as ${example}`;
    problems.push(sources.problem(path, message));
  };
  check('user_path_header', user_path_header, 'X-Gateway-User-Path');
  check('gateway_key_header', gateway_key_header, 'X-Gateway-Key');
  if (user_path_header.toLowerCase() === gateway_key_header.toLowerCase()) {
    const path = [
      'server',
      sources.written(['server', 'gateway_key_header']) === undefined ? 'user_path_header' : 'gateway_key_header',
    ];
    problems.push(sources.problem(path, `${quote(gateway_key_header)} cannot hold both the user path and the key`));
  }
  return problems;
}

function checkTimeZone(name: string | undefined, sources: Sources): Problem[] {
  const path = ['server', 'time_zone'];
  if (name === undefined || sources.isUnknown(path) || timeZone(name) !== undefined) return [];
  return [sources.problem(path, `${quote(name)} is no zone of the IANA database, such as "Europe/Berlin"`)];
}

function checkEach(
  path: readonly string[],
  texts: readonly string[],
  problemOf: (text: string) => string | undefined,
  sources: Sources,
): Problem[] {
  return texts.flatMap((text, index) => {
    const place = [...path, index];
    const message = sources.isUnknown(place) ? undefined : problemOf(text);
    return message === undefined ? [] : [sources.problem(place, message)];
  });
}

function problemOfRange(text: string): string | undefined {
  const [address = '', prefix, ...rest] = text.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  const isRange = prefix === undefined || (/^[0-9]{1,3}$/.test(prefix) && Number(prefix) <= bits);
  if (bits > 0 && !address.includes('%') && isRange && rest.length === 0) return undefined;
  return `must be an address or a CIDR range such as "10.0.0.0/8", found ${quote(text)}`;
}

/** Browsers send an origin in one spelling. */
function problemOfOrigin(text: string): string | undefined {
  if (text === '*') return undefined;
  const url = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+\/?$/i.test(text) ? URL.parse(text) : null;
  if (url === null) return `must be an origin such as "https://app.example.com", or "*", found ${quote(text)}`;
  const sent = `${url.protocol}//${url.host.toLowerCase()}`;
  return sent === text ? undefined : `is no origin as browsers send it, found ${quote(text)}; write ${quote(sent)}`;
}
