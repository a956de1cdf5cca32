// A real identity provider on loopback (oidc-provider): tests ask it for tokens, sign others with its keys, change its keys, and take it down.
import { createServer, type RequestListener } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Provider } from 'oidc-provider';
import { listen } from './ports.ts';
import type { Teardown } from './teardown.ts';

/** A pair of keys of the provider. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  /** With its private members. */
  readonly jwk: object;
}

export interface IdentityProvider {
  readonly issuer: string;
  /** The key that tokens are signed with. */
  key: SigningKey;
  /** Requests that have come in for its keys or its metadata. */
  readonly asked: string[];
  /** Answers in the place of the provider; undefined: the provider answers. */
  instead: RequestListener | undefined;
  /** A token as the provider issues it to a program (client credentials), with further claims. */
  issue(): Promise<string>;
  /** A token signed with its key. Claims replace the usual ones; undefined leaves one out. */
  sign(claims?: Readonly<Record<string, unknown>>, header?: Record<string, unknown>): Promise<string>;
  /** Signs with another key from now on. */
  rotate(): Promise<void>;
}

export const audience = 'model-gateway';
/** Of the tokens that the provider issues. */
export const usualClaims = { email: 'ann@example.com', groups: ['team-a', 'staff'], department: 'research' };

export async function newSigningKey(kid: string, alg = 'RS256'): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(privateKey)), kid, alg, use: 'sig' } };
}

export async function startIdentityProvider(t: Teardown): Promise<IdentityProvider> {
  let answer: RequestListener | undefined;
  const server = createServer((request, response) => {
    if (request.url !== '/token') idp.asked.push(request.url ?? '');
    (idp.instead ?? answer)?.(request, response);
  });
  const issuer = `http://127.0.0.1:${await listen(server)}`;
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  let count = 1;
  const idp: IdentityProvider = {
    issuer,
    key: await newSigningKey('k1'),
    asked: [],
    instead: undefined,
    async issue() {
      const authorization = `Basic ${Buffer.from('program:program-secret').toString('base64')}`;
      const body = new URLSearchParams({ grant_type: 'client_credentials' });
      const response = await fetch(`${issuer}/token`, { method: 'POST', headers: { authorization }, body });
      const { access_token: token } = (await response.json()) as { readonly access_token: string };
      return token;
    },
    async sign(claims = {}, header = {}) {
      const { alg, kid, privateKey } = idp.key;
      const seconds = Math.floor(Date.now() / 1000);
      const usual = { iss: issuer, sub: 'ann', aud: audience, iat: seconds, exp: seconds + 300, ...usualClaims };
      return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
    },
    async rotate() {
      count += 1;
      idp.key = await newSigningKey(`k${count}`);
      answer = providerOf(issuer, idp.key);
    },
  };
  answer = providerOf(issuer, idp.key);
  return idp;
}

function providerOf(issuer: string, { jwk, alg }: SigningKey): RequestListener {
  const server = { scope: '', audience, accessTokenFormat: 'jwt', accessTokenTTL: 300, jwt: { sign: { alg } } };
  return new Provider(issuer, {
    jwks: { keys: [jwk] },
    clients: [
      {
        client_id: 'program',
        client_secret: 'program-secret',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    extraTokenClaims: () => usualClaims,
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:model-gateway',
        getResourceServerInfo: () => server,
        useGrantedResource: () => true,
      },
    },
  }).callback();
}
