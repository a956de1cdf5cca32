// The requests of a consumer to a proxy: model calls, and its limits.
import type { Response } from 'undici';
import type { Gateway } from './gateway.ts';

/** As much of a row of the listing, or of an entry of `/v1/usage`, as tests look at. */
export interface RuleRow {
  readonly scope: string;
  readonly subject: string;
  readonly user_path: string;
  readonly per_child: boolean;
  readonly source: 'manual' | 'config';
  readonly overrides_config: boolean;
  readonly period_seconds: number;
  readonly period_label: string;
  readonly max_requests?: number;
  readonly max_tokens?: number;
  readonly requests_used: number;
  readonly requests_remaining?: number;
  readonly tokens_used: number;
  readonly tokens_reserved?: number;
  readonly tokens_remaining?: number;
  readonly in_flight: number;
  readonly refused?: number;
  readonly counted?: 'fleet' | 'replica';
  /** What each proxy has counted. */
  readonly proxies?: readonly {
    readonly instance: string;
    readonly requests_used: number;
    readonly tokens_used: number;
  }[];
  readonly created_at: string;
  readonly updated_at: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Response['headers'];
  readonly text: string;
}

export interface CallOptions {
  /** Over the usual ones. */
  readonly headers?: Record<string, string>;
  /** Below `/v1/`; default: `chat/completions`. */
  readonly door?: string;
}

/** One model request of a consumer, its answer read to the end; `more` goes into the body. Without a path no header names one. */
export async function ask(
  proxy: Pick<Gateway, 'fetch'>,
  userPath: string | undefined,
  more: object = {},
  { headers = {}, door = 'chat/completions' }: CallOptions = {},
): Promise<Answer> {
  const response = await proxy.fetch(`/v1/${door}`, {
    method: 'POST',
    headers: { ...(userPath === undefined ? {} : { 'x-gateway-user-path': userPath }), ...headers },
    body: { model: 'fake/fake-small', messages: [{ role: 'user', content: 'say hello' }], ...more },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Sends `times` model requests of a consumer, one after the other; returns their statuses. */
export async function statusesOf(proxy: Pick<Gateway, 'fetch'>, userPath: string, times: number): Promise<number[]> {
  const found: number[] = [];
  for (let count = 0; count < times; count += 1) found.push((await ask(proxy, userPath)).status);
  return found;
}

/** One model request of a consumer to each proxy, all at once; their statuses. */
export async function askEach(
  { proxies }: { readonly proxies: readonly Pick<Gateway, 'fetch'>[] },
  userPath: string,
  options: CallOptions = {},
): Promise<number[]> {
  return (await Promise.all(proxies.map((proxy) => ask(proxy, userPath, {}, options)))).map(({ status }) => status);
}

/** The limits of a consumer as one proxy enforces and counts them; without a path, those of /. */
export async function usageOf(proxy: Pick<Gateway, 'fetch'>, userPath?: string): Promise<readonly RuleRow[]> {
  const headers = userPath === undefined ? {} : { 'x-gateway-user-path': userPath };
  const response = await proxy.fetch('/v1/usage', { headers });
  return ((await response.json()) as { rate_limits: RuleRow[] }).rate_limits;
}
