// Asks the admin API: the one place that sends requests. Errors are the flat shape of the API, as sentences.
import { noteAnswer, noteLoss } from './connection.ts';
import { endSession, session } from './session-state.ts';
import { zone } from './time.ts';

/** An answer that is no success. */
export class ApiError extends Error {
  /** 0: no answer came. */
  readonly status: number;
  /** Stable, such as `rate_limit_not_found`; empty without an answer. */
  readonly code: string;
  /** The wrong member of the request. */
  readonly param: string | undefined;

  constructor(status: number, said: { readonly code?: string; readonly message?: string; readonly param?: string }) {
    super(said.message ?? `The control plane answered ${status}.`);
    this.name = 'ApiError';
    this.status = status;
    this.code = said.code ?? '';
    this.param = said.param;
  }
}

export interface Answer<Body> {
  readonly body: Body;
  readonly headers: Headers;
}

export interface Question {
  readonly method?: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const deadlineMs = 20_000;

/** Rejects with `ApiError`; with an `AbortError` when the signal fires. A session that is over shows the login. */
export async function ask<Body>(path: string, question: Question = {}): Promise<Answer<Body>> {
  const response = await send(path, question);
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  const body: unknown = isJson && text !== '' ? JSON.parse(text) : text;
  if (response.ok) {
    noteAnswer();
    return { body: body as Body, headers: response.headers };
  }
  const error = new ApiError(response.status, isJson ? (body as object) : {});
  if (error.code === 'control_plane_unavailable') lost(error.message);
  else noteAnswer();
  if (response.status === 401 && path !== '/admin/session') endSession();
  throw error;
}

async function send(path: string, { method = 'GET', body, headers = {}, signal }: Question): Promise<Response> {
  const late = AbortSignal.timeout(deadlineMs);
  const token = session.value.who?.csrf_token;
  try {
    return await fetch(path, {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      signal: signal === undefined ? late : AbortSignal.any([signal, late]),
      headers: {
        accept: 'application/json',
        'x-gateway-timezone': zone,
        ...(method === 'GET' || !token ? {} : { 'x-csrf-token': token }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    const message = late.aborted ? 'The gateway did not answer in time.' : 'The gateway cannot be reached.';
    lost(message);
    throw new ApiError(0, { message });
  }
}

function lost(problem: string): void {
  noteLoss(problem, probe);
}

/** Asks for nothing but an answer. */
export async function probe(): Promise<void> {
  await ask('/admin/session');
}
