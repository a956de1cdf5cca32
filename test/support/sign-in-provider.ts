// A real identity provider (OpenID Connect) on loopback: `oidc-provider` from npm, with people whose claims a test sets.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import type { Teardown } from './teardown.ts';

/** `hangs`: it takes connections and says nothing. `fails`: 500 to everything. */
export type ProviderState = 'well' | 'hangs' | 'fails';

export interface SignInProvider {
  readonly issuer: string;
  /** Claims by subject; those of a new subject are its name alone. */
  readonly people: Map<string, Readonly<Record<string, unknown>>>;
  /** Who signs in without being asked, or the error that the sign-in ends with; undefined: a form asks. */
  next: { readonly subject: string } | { readonly error: string; readonly description?: string } | undefined;
  state: ProviderState;
  /** The paths that were asked for, without queries. */
  readonly asked: string[];
  /** Changes the answer with this path before it is sent. */
  readonly bend: Map<string, (body: Record<string, unknown>) => unknown>;
}

export interface ClientOptions {
  readonly client_id: string;
  /** Absent: a public client. */
  readonly client_secret?: string;
  readonly redirect_uris: readonly string[];
  readonly post_logout_redirect_uris?: readonly string[];
}

/** Until the test ends. */
export async function startSignInProvider(t: Teardown, clients: readonly ClientOptions[]): Promise<SignInProvider> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const people: SignInProvider['people'] = new Map();
  const provider = new Provider(issuer, settings(clients, people));
  const self: SignInProvider = { issuer, people, next: undefined, state: 'well', asked: [], bend: new Map() };
  const serve = provider.callback();
  server.on('request', (request, response) => {
    const path = new URL(request.url ?? '/', issuer).pathname;
    self.asked.push(path);
    if (self.state === 'hangs') return;
    if (self.state === 'fails') {
      response.writeHead(500).end('{}');
      return;
    }
    const change = self.bend.get(path);
    if (change !== undefined) bendJson(response, change);
    if (path.startsWith('/interaction/')) void interact(provider, self, { request, response });
    else serve(request, response);
  });
  return self;
}

function settings(clients: readonly ClientOptions[], people: SignInProvider['people']): object {
  return {
    clients: clients.map((client) => ({
      ...client,
      post_logout_redirect_uris: client.post_logout_redirect_uris ?? [],
      token_endpoint_auth_method: client.client_secret === undefined ? 'none' : 'client_secret_basic',
    })),
    findAccount: (_: unknown, subject: string) => ({
      accountId: subject,
      claims: () => ({ sub: subject, ...people.get(subject) }),
    }),
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      groups: ['groups', 'department'],
    },
    scopes: ['openid', 'email', 'profile', 'groups'],
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true, logoutSource } },
    interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    cookies: { keys: ['of-the-tests'] },
    ttl: { Session: 3600, Interaction: 3600, Grant: 3600, IdToken: 3600, AccessToken: 3600, AuthorizationCode: 60 },
    async loadExistingGrant(ctx: Context) {
      const { client, session, provider, params } = ctx.oidc;
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope(params.scope);
      await grant.save();
      return grant;
    },
  };
}

interface Context {
  readonly oidc: {
    readonly client: { readonly clientId: string };
    readonly session: { readonly accountId: string };
    readonly provider: Provider;
    readonly params: { readonly scope: string };
  };
}

/** The page where a person says who it is. */
async function interact(
  provider: Provider,
  { next }: SignInProvider,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<void> {
  const typed = request.method === 'POST' ? new URLSearchParams(await bodyOf(request)).get('subject') : null;
  if (next !== undefined && 'error' in next) {
    const result = { error: next.error, error_description: next.description };
    return provider.interactionFinished(request, response, result);
  }
  const subject = typed ?? next?.subject;
  if (subject !== undefined) return provider.interactionFinished(request, response, { login: { accountId: subject } });
  response.setHeader('content-type', 'text/html');
  response.end(
    `${top}<title>Company login</title><h1>Company login</h1><form method="post"><label>Name <input name="subject"></label><button>Continue</button></form>`,
  );
}

/** Browsers ask for no icon. */
const top = '<!doctype html><link rel="icon" href="data:,">';

/** The page where a person signs out; it loads nothing from elsewhere. */
function logoutSource(ctx: { body: string }, form: string): void {
  ctx.body = `${top}<title>Sign out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>`;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request as AsyncIterable<Buffer>) text += piece.toString();
  return text;
}

/** Sends another JSON than the provider has written. */
function bendJson(response: ServerResponse, change: (body: Record<string, unknown>) => unknown): void {
  const end = response.end.bind(response);
  response.end = ((text: unknown) => {
    const bent = JSON.stringify(change(JSON.parse(String(text)) as Record<string, unknown>));
    response.setHeader('content-length', Buffer.byteLength(bent));
    return end(bent);
  }) as typeof response.end;
}
