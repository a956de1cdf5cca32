// An identity provider, as its discovery document describes it. The only file that imports `openid-client`; it is loaded at the first sign-in.
import * as oidc from 'openid-client';
import type { Claims } from '../../../domain/conditions/claim-path.ts';
import type { BegunSignIn } from './begun.ts';
import { boundedFetch } from './bounded-fetch.ts';
import type { ProviderSettings } from './settings.ts';

export interface Provider {
  /** Where the browser of the person goes to sign in. */
  authorizationUrl(begun: BegunSignIn, redirectUri: string): Promise<string>;
  /**
   * Exchanges the code of the address that the provider sent the browser to. Rejects when the provider refuses, when anything in the answer is not
   * what was begun, and when the ID token is not signed by the provider.
   */
  claims(callback: URL, begun: BegunSignIn): Promise<Claims>;
  /** Where the browser goes to sign out at the provider too; undefined: it has no such address. */
  signOutUrl(backTo: string): string | undefined;
}

/** Reads the discovery document. Rejects when it cannot be had, or is of another issuer. */
export async function connectProvider(settings: ProviderSettings): Promise<Provider> {
  const { issuer, clientId, clientSecret, clockSkewS } = settings;
  const metadata = { [oidc.clockTolerance]: clockSkewS };
  const isInsecure = issuer.startsWith('http:');
  const extensions = [oidc.enableNonRepudiationChecks, ...(isInsecure ? [oidc.allowInsecureRequests] : [])];
  const config = await oidc.discovery(new URL(issuer), clientId, metadata, clientAuth(clientSecret), {
    [oidc.customFetch]: boundedFetch(settings.allowPrivate),
    execute: extensions,
  });
  return {
    async authorizationUrl({ state, nonce, verifier }, redirectUri) {
      const url = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: settings.scopes.join(' '),
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return url.href;
    },
    async claims(callback, { state, nonce, verifier }) {
      const tokens = await oidc.authorizationCodeGrant(config, callback, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new Error('it sent no ID token');
      const algorithm = algorithmOf(tokens.id_token ?? '');
      if (!settings.algorithms.includes(algorithm))
        throw new Error('its ID token has an algorithm that is not allowed');
      if (!settings.hasUserInfo) return claims;
      // What the signed token says comes first.
      return { ...(await oidc.fetchUserInfo(config, tokens.access_token, claims.sub)), ...claims };
    },
    signOutUrl(backTo) {
      if (config.serverMetadata().end_session_endpoint === undefined) return undefined;
      return oidc.buildEndSessionUrl(config, { post_logout_redirect_uri: backTo }).href;
    },
  };
}

/** A client without a secret is a public one, which PKCE protects. */
function clientAuth(secret: string | undefined): oidc.ClientAuth {
  if (secret === undefined) return oidc.None();
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const auth = methods.includes('client_secret_basic') ? basic : post;
    return auth(server, client, body, headers);
  };
}

function algorithmOf(token: string): string {
  const header = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as {
    readonly alg?: unknown;
  };
  return String(header.alg);
}

/** Why a sign-in failed. `denied`: the provider said no. `unreachable`: it did not answer. `invalid`: its answer is not what was asked for. */
export interface ProviderFailure {
  readonly kind: 'denied' | 'unreachable' | 'invalid';
  /** In words; may quote the provider, never a token. */
  readonly reason: string;
}

const longestQuote = 200;

export function providerFailure(error: unknown): ProviderFailure {
  if (error instanceof oidc.AuthorizationResponseError) return { kind: 'denied', reason: quoted(error) };
  if (error instanceof oidc.ResponseBodyError) {
    const kind = error.status >= 500 ? 'unreachable' : 'invalid';
    return { kind, reason: quoted(error) };
  }
  const chain = causes(error);
  const code = chain.map((each) => each.code).find((each) => each !== undefined) ?? '';
  const long = chain.find(({ name }) => name === 'AnswerTooLong' || name === 'AddressRefused');
  if (long?.message !== undefined) return { kind: 'unreachable', reason: long.message };
  const late = chain.some(({ name }) => name === 'TimeoutError' || name === 'AbortError');
  if (late || code === 'OAUTH_TIMEOUT') return { kind: 'unreachable', reason: 'it did not answer in time' };
  if (/^(E[A-Z]+|UND_ERR_\w+)$/.test(code)) return { kind: 'unreachable', reason: `it cannot be reached: ${code}` };
  if (chain.some(({ message }) => message === 'fetch failed'))
    return { kind: 'unreachable', reason: 'it cannot be reached' };
  const status = chain.map((each) => each.status).find((each) => each !== undefined);
  if (status !== undefined && status >= 400) return { kind: 'unreachable', reason: `it answered ${status}` };
  const claim = chain.map((each) => each.claim ?? each.attribute).find((each) => each !== undefined);
  const words = chain.map(({ message }) => message).find((each) => each !== undefined) ?? 'unknown';
  return { kind: 'invalid', reason: claim === undefined ? words : `${words}: ${claim}` };
}

/** What a provider says of itself, bounded. */
function quoted({
  error,
  error_description: says,
}: {
  readonly error: string;
  readonly error_description?: string | undefined;
}): string {
  return (says === undefined ? error : `${error}: ${says}`).slice(0, longestQuote);
}

interface Cause {
  readonly code?: string;
  readonly name?: string;
  readonly message?: string;
  readonly status?: number;
  readonly claim?: string;
  readonly attribute?: string;
}

/** The error and what caused it. Of a cause, only members that hold no token. */
function causes(error: unknown): Cause[] {
  const found: Cause[] = [];
  let next: unknown = error;
  while (typeof next === 'object' && next !== null && found.length < 8) {
    const { code, name, message, status, claim, attribute, cause } = next as Record<string, unknown>;
    const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
    found.push({
      ...(text(code) === undefined ? {} : { code: text(code) }),
      ...(text(name) === undefined ? {} : { name: text(name) }),
      ...(text(message) === undefined ? {} : { message: text(message) }),
      ...(typeof status === 'number' ? { status } : {}),
      ...(text(claim) === undefined ? {} : { claim: text(claim) }),
      ...(text(attribute) === undefined ? {} : { attribute: text(attribute) }),
    } as Cause);
    next = cause;
  }
  return found;
}
