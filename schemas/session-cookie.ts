// The name of the cookie that holds a browser's session.
export const sessionCookie = 'gateway_session';
