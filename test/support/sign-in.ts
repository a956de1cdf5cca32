// Signs in without a browser: what a browser sends and keeps, step by step, so that a test can change each step.
import { Agent, fetch, type RequestInit } from './undici.ts';

const agent = new Agent();

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly location: string;
  /** Cookies that it sets, by name; empty: it is forgotten. */
  readonly cookies: ReadonlyMap<string, string>;
  /** As they are written. */
  readonly setCookies: readonly string[];
}

export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { dispatcher: agent, redirect: 'manual', ...init });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
  const setCookies = response.headers.getSetCookie();
  const cookies = setCookies.map((each) => /^([^=]+)=([^;]*)/.exec(each) ?? []);
  return {
    status: response.status,
    body: (isJson ? JSON.parse(text) : {}) as Record<string, unknown>,
    location: response.headers.get('location') ?? '',
    cookies: new Map(cookies.map(([, name = '', value = '']) => [name, value])),
    setCookies,
  };
}

const ownPage = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };

/** Begins at a door of the gateway. `cookie`: what the browser then keeps of it. */
export async function begin(
  door: string,
  identity: string,
  { page, headers = {} }: { readonly page?: string; readonly headers?: Record<string, string> } = {},
): Promise<{ readonly answer: Answer; readonly url: string; readonly cookie: string }> {
  const answer = await ask(`${door}/admin/sign-in`, {
    method: 'POST',
    headers: { ...ownPage, ...headers },
    body: JSON.stringify({ identity, ...(page === undefined ? {} : { page }) }),
  });
  const cookie = `gateway_sign_in=${answer.cookies.get('gateway_sign_in') ?? ''}`;
  return { answer, url: String(answer.body['url']), cookie };
}

/** The person is at the provider: gives the address that the provider sends the browser back to. */
export async function atProvider(url: string): Promise<URL> {
  const { origin } = new URL(url);
  const jar = new Map<string, string>();
  let next = url;
  for (let hops = 0; hops < 10; hops += 1) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const { status, location, cookies } = await ask(next, { headers: { cookie } });
    for (const [name, value] of cookies) jar.set(name, value);
    if (location === '') throw new Error(`the provider answered ${status}`);
    next = new URL(location, origin).href;
    if (new URL(next).origin !== origin) return new URL(next);
  }
  throw new Error('the provider leads nowhere');
}

let browsers = 0;

/** The browser comes back, at a door of the gateway that trusts this machine; each time from another address, because failures of one are counted. */
export function comeBack(door: string, callback: URL, cookie: string): Promise<Answer> {
  browsers += 1;
  const headers = { cookie, 'sec-fetch-site': 'cross-site', 'x-forwarded-for': `198.51.100.${browsers % 250}` };
  return ask(`${door}${callback.pathname}${callback.search}`, { headers });
}

/** What the login page is told afterwards: the code of the problem and its words. */
export async function problemOf(door: string, { cookies }: Answer): Promise<{ code: string; message: string }> {
  const cookie = `gateway_sign_in=${cookies.get('gateway_sign_in') ?? ''}`;
  const { body } = await ask(`${door}/admin/sign-in`, { headers: { cookie } });
  return (body['problem'] ?? { code: 'none', message: '' }) as { code: string; message: string };
}

/** The whole way. `read` and `write`: headers of requests with the session. */
export async function signIn(door: string, identity: string) {
  const { url, cookie: begun } = await begin(door, identity);
  const answer = await comeBack(door, await atProvider(url), begun);
  const cookie = `gateway_session=${answer.cookies.get('gateway_session') ?? ''}`;
  const { body } = await ask(`${door}/admin/session`, { headers: { cookie } });
  const write = { ...ownPage, cookie, 'x-csrf-token': String(body['csrf_token']) };
  return { answer, session: body, read: { cookie }, write };
}
