// The errors that only browsers get, for the table of errors: sessions, and pages of other origins.

const denied = (message: string) => ({ status: 403, type: 'permission_error', message }) as const;

export const browserErrors = {
  session_ended: { status: 401, type: 'authentication_error', message: 'The session is over. Log in again.' },
  csrf_refused: denied(
    'A write with a session needs the header x-csrf-token, with csrf_token of GET /admin/session, from a page of this address.',
  ),
  foreign_host: denied(
    'Without a master key only names of this machine are served, such as localhost; "{host}" is none. Set GATEWAY_MASTER_KEY.',
  ),
  foreign_origin: denied('Without a master key no page of another origin may write. Set GATEWAY_MASTER_KEY.'),
  origin_not_allowed: denied('Web pages of the origin "{origin}" may not send this request: {reason}.'),
} as const;
