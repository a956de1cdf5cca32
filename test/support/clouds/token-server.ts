// The servers of Google and Azure that give tokens, on loopback: the exchange of tokens, impersonation, sign-in of applications, and the
// metadata server of a machine. It can be slow, down, wrong about the time, or answer with garbage.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { certificate } from '../certificate.ts';
import type { Teardown } from '../teardown.ts';

/** What a server does instead of giving a token. */
export type Fault =
  | 'hang'
  | 'cut'
  | { readonly status: number; readonly body: string; readonly type?: string }
  | { readonly afterMs: number };

/** A question that came. */
export interface Asked {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Fields of a form; empty for another body. */
  readonly form: URLSearchParams;
}

export interface TokenServer {
  /** `http://localhost:<port>` */
  readonly url: string;
  /** `https://localhost:<port>`, with the certificate `authority`. */
  readonly tlsUrl: string;
  /** PEM. */
  readonly authority: string;
  /** Its key and certificate, for other servers that are to have the same. */
  readonly identity: { readonly key: string; readonly cert: string };
  readonly asked: readonly Asked[];
  /** Tokens in the order in which they were given. */
  readonly tokens: readonly string[];
  /** Undefined: tokens are given. */
  fault: Fault | undefined;
  /** How long tokens live. Milliseconds. */
  lifeMs: number;
  /** How far its clock is ahead. Milliseconds. */
  aheadMs: number;
  /** Whether a token holds now, by the true clock. */
  holds(token: string): boolean;
  /** How many requests wait for an answer. */
  pending(): number;
}

interface Given {
  readonly token: string;
  /** By the clock of the server. Unix milliseconds. */
  readonly endsAtMs: number;
  readonly seconds: number;
}

/** The answers by path; a path that is not here is answered 404. */
const answers: readonly (readonly [RegExp, (given: Given, url: string) => object])[] = [
  // Google: the exchange, the sign-in of a service account or a user, and the metadata server.
  [/^\/(sts|token|computeMetadata\/v1\/instance\/service-accounts\/default\/token)$/, bearer],
  [
    /:generateAccessToken$/,
    ({ token, endsAtMs }) => ({ accessToken: token, expireTime: new Date(endsAtMs).toISOString() }),
  ],
  // Azure: the sign-in of an application, IMDS, App Service.
  [/^\/[\w.-]+\/oauth2\/v2\.0\/token$/, bearer],
  [
    /^\/(metadata\/identity\/oauth2|msi)\/token\/?$/,
    ({ token, endsAtMs }) => ({
      access_token: token,
      expires_on: String(Math.floor(endsAtMs / 1000)),
      resource: 'https://cognitiveservices.azure.com',
      token_type: 'Bearer',
    }),
  ],
];

function bearer({ token, seconds }: Given): object {
  return { access_token: token, expires_in: seconds, token_type: 'Bearer' };
}

/** Listens for plain and for TLS connections until the test ends. `identity`: default: a new one. */
export async function startTokenServer(
  t: Teardown,
  identity: TokenServer['identity'] = certificate(2020, 2050, 'localhost'),
): Promise<TokenServer> {
  const asked: Asked[] = [];
  const tokens: string[] = [];
  const ends = new Map<string, number>();
  let pending = 0;
  const state: { fault: Fault | undefined; lifeMs: number; aheadMs: number } = {
    fault: undefined,
    lifeMs: 3_600_000,
    aheadMs: 0,
  };

  const give = (): Given => {
    const token = `token-${ends.size + 1}-of-this-server`;
    tokens.push(token);
    ends.set(token, Date.now() + state.lifeMs);
    return { token, endsAtMs: Date.now() + state.aheadMs + state.lifeMs, seconds: state.lifeMs / 1000 };
  };
  const listener: RequestListener = (request, response) => void respond(request, response);
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const tenant = /^\/([\w.-]+)\/v2\.0\/\.well-known\/openid-configuration$/.exec(pathname)?.[1];
    if (tenant !== undefined) return answer(response, 200, discovery(server.tlsUrl, tenant), state.aheadMs);
    const body = Buffer.concat(await request.toArray()).toString();
    const { headers } = request;
    pending += 1;
    response.on('close', () => {
      pending -= 1;
    });
    const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
    asked.push({ path: pathname, query: searchParams, headers, body, form: new URLSearchParams(isForm ? body : '') });
    const { fault } = state;
    if (fault === 'hang') return;
    if (fault === 'cut') return void request.socket.destroy();
    if (fault !== undefined && 'status' in fault) {
      response.writeHead(fault.status, { 'content-type': fault.type ?? 'application/json', ...flavor });
      return void response.end(fault.body);
    }
    if (fault !== undefined) await new Promise((done) => setTimeout(done, fault.afterMs).unref());
    const write = answers.find(([path]) => path.test(pathname))?.[1];
    if (write === undefined) answer(response, 404, { error: 'not_found', error_description: pathname }, state.aheadMs);
    else answer(response, 200, write(give(), server.url), state.aheadMs);
  };

  const plain = await start(t, createServer(listener));
  const tls = await start(t, createTlsServer(identity, listener));
  const server: TokenServer = Object.assign(state, {
    url: `http://localhost:${plain}`,
    tlsUrl: `https://localhost:${tls}`,
    authority: identity.cert,
    identity,
    asked,
    tokens,
    holds: (token: string) => (ends.get(token) ?? 0) > Date.now(),
    pending: () => pending,
  });
  return server;
}

/** The metadata server of Google says so; others do not mind. */
const flavor = { 'metadata-flavor': 'Google' };

function answer(response: ServerResponse, status: number, body: object, aheadMs: number): void {
  const date = new Date(Date.now() + aheadMs).toUTCString();
  response.writeHead(status, { 'content-type': 'application/json', date, ...flavor });
  response.end(JSON.stringify(body));
}

function discovery(origin: string, tenant: string): object {
  return {
    token_endpoint: `${origin}/${tenant}/oauth2/v2.0/token`,
    authorization_endpoint: `${origin}/${tenant}/oauth2/v2.0/authorize`,
    end_session_endpoint: `${origin}/${tenant}/oauth2/v2.0/logout`,
    jwks_uri: `${origin}/${tenant}/discovery/v2.0/keys`,
    issuer: `${origin}/${tenant}/v2.0`,
  };
}

async function start(t: Teardown, server: Server): Promise<number> {
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
}
