// A Vault on loopback, as far as the gateway asks one: values of the KV engine, logins with a service account, renewals, and misbehaviour.
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { listen } from './ports.ts';
import type { Teardown } from './teardown.ts';

/** silent: it takes requests and says nothing. reset: it cuts connections, as one that is down. */
export type Mood = 'fine' | 'silent' | 'reset' | 'sealed' | 'huge' | 'garbage';

export interface FakeVault {
  readonly url: string;
  /** By path below /v1, such as `secret/data/openai`. */
  readonly values: Map<string, Record<string, unknown>>;
  /** Those that it takes. */
  readonly tokens: Set<string>;
  /** The tokens of logins live for so long. Seconds. */
  lifeSeconds: number;
  mood: Mood;
  /** Method and path of every request, with the headers of Vault. */
  readonly asked: { readonly line: string; readonly token: unknown; readonly namespace: unknown }[];
}

/** The only service account that it lets in. */
export const account = { role: 'gateway', jwt: 'canary-jwt-of-the-service-account' };

/** `tls`: key and certificate of the server; absent: plain HTTP. */
export async function startFakeVault(
  t: Teardown,
  tls?: { readonly key: string; readonly cert: string },
): Promise<FakeVault> {
  let logins = 0;
  const answer: RequestListener = (request, response) => {
    const { method = '', url = '', headers } = request;
    const { 'x-vault-token': token, 'x-vault-namespace': namespace } = headers;
    vault.asked.push({ line: `${method} ${url}`, token, namespace });
    const say = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    };
    if (vault.mood === 'silent') return;
    if (vault.mood === 'reset') return void request.socket.destroy();
    if (vault.mood === 'sealed') return say(503, { errors: ['Vault is sealed'] });
    if (vault.mood === 'huge') return say(200, JSON.stringify({ data: { key: 'x'.repeat(300_000) } }));
    if (vault.mood === 'garbage') return say(200, '<html>canary');
    let text = '';
    request.on('data', (piece: Buffer) => {
      text += piece.toString();
    });
    request.on('end', () => {
      if (url === '/v1/auth/kubernetes/login') {
        const { role, jwt } = JSON.parse(text) as Record<string, unknown>;
        if (role !== account.role || jwt !== account.jwt) return say(403, { errors: ['permission denied'] });
        logins += 1;
        const issued = `canary-token-${logins}`;
        vault.tokens.add(issued);
        return say(200, { auth: { client_token: issued, lease_duration: vault.lifeSeconds, renewable: true } });
      }
      if (typeof token !== 'string' || !vault.tokens.has(token)) return say(403, { errors: ['permission denied'] });
      if (url === '/v1/auth/token/renew-self')
        return say(200, { auth: { client_token: token, lease_duration: vault.lifeSeconds } });
      const path = url.slice('/v1/'.length);
      const values = vault.values.get(path);
      if (values === undefined) return say(404, { errors: [] });
      if (path.startsWith('database/')) return say(200, { lease_id: `${path}/1`, data: values });
      const isVersioned = path.includes('/data/');
      say(200, { lease_id: '', data: isVersioned ? { data: values, metadata: { version: 1 } } : values });
    });
  };
  const server = tls === undefined ? createServer(answer) : createSecureServer(tls, answer);
  const port = await listen(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const vault: FakeVault = {
    url: `${tls === undefined ? 'http' : 'https'}://${tls === undefined ? '127.0.0.1' : 'localhost'}:${port}`,
    values: new Map(),
    tokens: new Set(['canary-root-token']),
    lifeSeconds: 3_600,
    mood: 'fine',
    asked: [],
  };
  return vault;
}
