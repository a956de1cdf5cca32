// The operations of /admin/sign-in, one row each.
import type { Operation } from './operation.ts';

const signIn = { tag: 'Session', access: 'public' } as const;

export const signInOperations: readonly Operation[] = [
  {
    ...signIn,
    id: 'getSignIn',
    method: 'get',
    path: '/admin/sign-in',
    summary: 'What a browser can sign in with, and why its last sign-in has failed.',
    description: 'The identities of the configuration that have `sign_in`. The problem is told once.',
    success: { status: 200, says: 'What the login page offers.', schema: 'sign-in', headers: ['Set-Cookie'] },
  },
  {
    ...signIn,
    id: 'beginSignIn',
    method: 'post',
    path: '/admin/sign-in',
    summary: 'A browser begins to sign in at an identity provider (OpenID Connect).',
    description:
      'The answer names the page of the provider that the browser goes to. A sealed cookie, SameSite=Lax, holds for ten minutes what the answer of the provider is checked with: state, nonce and the verifier of PKCE.',
    body: 'sign-in-write',
    success: { status: 200, says: 'Where the browser goes.', schema: 'sign-in-begun', headers: ['Set-Cookie'] },
    refusals: {
      404: ['sign_in_not_found'],
      409: ['session_not_needed'],
      429: ['too_many_failed_logins'],
      503: ['sign_in_unavailable'],
    },
  },
  {
    ...signIn,
    id: 'finishSignIn',
    method: 'get',
    path: '/admin/sign-in/{identity}/callback',
    parameters: ['SignInIdentity'],
    summary: 'The identity provider sends the browser here: it gets a session.',
    description:
      'Register this address, with the `public_url` of the identity before it, as the redirect URI of the client. Every answer leads to the dashboard: with a session as of POST /admin/session, or to the login page, which says what was wrong by these codes (GET /admin/sign-in).',
    success: { status: 303, says: 'To the dashboard.', headers: ['Set-Cookie'] },
    refusals: {
      400: ['sign_in_not_begun'],
      401: ['sign_in_invalid'],
      403: ['sign_in_denied', 'sign_in_without_rights'],
      409: ['session_not_needed'],
      429: ['too_many_failed_logins'],
      503: ['sign_in_unavailable', 'too_many_sign_ins'],
    },
  },
];
