// The routes of /admin/sign-in: a browser signs in at an identity provider (OpenID Connect, authorization code with PKCE) and gets a session.
import { randomBytes } from 'node:crypto';
import type { FastifyPluginAsync } from 'fastify';
import { writeSessionCookie } from '../../../domain/keys/session.ts';
import { isOwnPage } from '../../../plane/access/browser-session.ts';
import { bodies } from '../../../schemas/validation/generated/bodies.js';
import { refusePaused } from '../../authenticate.ts';
import { Refusal, refusal } from '../../errors.ts';
import { createBodyReader } from '../../managed/read-body.ts';
import { readSignIn, writeSignIn } from './begun.ts';
import { dashboardPage, dashboardPath } from './dashboard-page.ts';
import { callbackPath, connect, finishSignIn, type SignInParts } from './finish.ts';
import type { SignIn } from './settings.ts';

const readWrite = createBodyReader(bodies.signInWrite);
const publicly = { config: { access: 'public' }, exposeHeadRoute: false } as const;

export const signInRoutes: FastifyPluginAsync<{ readonly parts: SignInParts }> = async (app, { parts }) => {
  const { access, signIns } = parts;
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'));

  app.get('/admin/sign-in', publicly, async ({ headers }, reply) => {
    const { masterKey } = access;
    if (masterKey === undefined) return { identities: [], problem: null };
    const kept = readSignIn(headers.cookie, masterKey, access.nowMs());
    const problem = kept !== undefined && 'problem' in kept ? kept.problem : null;
    // It is told once.
    if (problem !== null) void reply.header('set-cookie', writeSignIn(undefined));
    return { identities: [...signIns().values()].map(({ name, title }) => ({ name, title })), problem };
  });

  app.post('/admin/sign-in', { ...publicly, bodyLimit: 4096 }, async (request, reply) => {
    if (isOwnPage(request.headers) === false) throw refusal('csrf_refused');
    const { identity, page } = readWrite(request.body);
    const { masterKey } = access;
    if (masterKey === undefined) throw refusal('session_not_needed');
    refusePaused(request.raw, access);
    const signIn = signIns().get(identity);
    if (signIn === undefined) throw refusal('sign_in_not_found', { fill: { name: identity } });
    const provider = await connect(signIn, parts);
    const begun = {
      identity,
      state: randomText(),
      nonce: randomText(),
      verifier: randomText(),
      page: dashboardPage(page, signIn.publicUrl),
    };
    const url = await provider.authorizationUrl(begun, signIn.publicUrl + callbackPath(identity));
    const sealed = { masterKey, isSecure: isSecure(signIn), nowMs: access.nowMs() };
    void reply.header('set-cookie', writeSignIn({ begun }, sealed));
    return { url };
  });

  app.get<{ Params: { readonly identity: string } }>(
    '/admin/sign-in/:identity/callback',
    publicly,
    async (request, reply) => {
      const { masterKey } = access;
      if (masterKey === undefined) throw refusal('session_not_needed');
      const signIn = signIns().get(request.params.identity);
      const secure = signIn !== undefined && isSecure(signIn);
      try {
        refusePaused(request.raw, access);
        const { cookie, page } = await finishSignIn({ request: request.raw, signIn, masterKey, parts });
        // Another site has sent the browser, so it sends no Strict cookie with the page that follows. The page needs none, and what the page asks
        // for has the cookie.
        const cookies = [writeSessionCookie(cookie, secure, signIn?.lastsMs), writeSignIn(undefined)];
        return reply.header('set-cookie', cookies).redirect(page, 303);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const { code, message } = error;
        const sealed = { masterKey, isSecure: secure, nowMs: access.nowMs() };
        return reply
          .header('set-cookie', writeSignIn({ problem: { code, message } }, sealed))
          .redirect(dashboardPath, 303);
      }
    },
  );
};

/** 256 random bits. */
function randomText(): string {
  return randomBytes(32).toString('base64url');
}

function isSecure({ publicUrl }: SignIn): boolean {
  return publicUrl.startsWith('https:');
}
