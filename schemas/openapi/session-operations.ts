// The operations of /admin/session, one row each.
import type { Operation } from './operation.ts';

const session = { tag: 'Session', path: '/admin/session' } as const;

export const sessionOperations: readonly Operation[] = [
  {
    ...session,
    id: 'getSession',
    method: 'get',
    access: 'operator',
    summary: 'Who asks, and what it may see.',
    description: 'Also for requests with a key. A page reads here the token that its writes carry.',
    success: { status: 200, says: 'Who asks.', schema: 'session' },
  },
  {
    ...session,
    id: 'beginSession',
    method: 'post',
    access: 'public',
    summary: 'A browser logs in: the answer sets a cookie that stands for the key.',
    description:
      'The cookie is sealed, HttpOnly and SameSite=Strict, Secure over HTTPS, and ends after twelve hours, or when the key is revoked or the master key replaced. Writes with it carry `csrf_token` in the header `x-csrf-token`. A request with an Authorization header ignores the cookie.',
    body: 'session-write',
    success: { status: 200, says: 'Who has logged in.', schema: 'session', headers: ['Set-Cookie'] },
    refusals: {
      401: ['invalid_api_key'],
      403: ['dashboard_access_denied'],
      409: ['session_not_needed'],
      429: ['too_many_failed_logins'],
    },
  },
  {
    ...session,
    id: 'endSession',
    method: 'delete',
    access: 'operator',
    summary: 'The browser logs out: its session ends everywhere.',
    description:
      'The browser forgets its cookie, and a copy of the cookie is refused by every proxy and control plane within a second. While the state store cannot be written, the answer is 503: then a copy is good until the end of the session.',
    success: { status: 204, says: 'It has ended.', headers: ['Set-Cookie', 'x-gateway-sign-out'] },
  },
];
