// Asks a model through the proxy that this window is open at, like any client: with a key in a header, and without the session of the dashboard.
import { steadyMs } from '../../time.ts';
import { type ChatBody, endpoint } from './draft.ts';
import { eventsOf } from './events.ts';

export interface TokenCounts {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
}

/** An answer as far as it has come. */
export interface Run {
  readonly standing: 'waiting' | 'answering' | 'done' | 'failed' | 'stopped';
  readonly text: string;
  /** Of the thoughts that some models show. */
  readonly thoughts: string;
  /** Why it failed, for people. */
  readonly problem?: string;
  readonly code?: string;
  readonly status?: number;
  /** That the provider answered with. */
  readonly model?: string;
  readonly usage?: TokenCounts;
  readonly firstMs?: number;
  readonly tookMs?: number;
  readonly headers?: Headers;
}

export const newRun: Run = { standing: 'waiting', text: '', thoughts: '' };

/** Of an error. */
interface Said {
  readonly message?: string;
  readonly code?: string;
}

interface Chunk extends Said {
  readonly model?: string;
  readonly usage?: TokenCounts | null;
  readonly choices?: readonly {
    readonly delta?: Spoken;
    readonly message?: Spoken;
  }[];
  readonly error?: Said | null;
}

interface Spoken {
  readonly content?: string | null;
  readonly reasoning_content?: string | null;
}

export interface Asking {
  readonly key: string;
  readonly body: ChatBody;
  readonly signal: AbortSignal;
}

/** Tells of every step; resolves when it is over, however it ends. */
export async function askModel({ key, body, signal }: Asking, tell: (run: Run) => void): Promise<void> {
  const begunMs = steadyMs();
  let run = newRun;
  const put = (some: Partial<Run>): void => {
    run = { ...run, ...some };
    tell(run);
  };
  put({});
  try {
    const response = await fetch(endpoint, {
      method: 'POST',
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      signal,
      headers: {
        ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
        'content-type': 'application/json',
        'x-gateway-explain': '1',
      },
      body: JSON.stringify(body),
    });
    put({ status: response.status, headers: response.headers });
    for await (const chunk of chunksOf(response)) {
      if ((chunk.error ?? undefined) !== undefined || !response.ok) throw new Refused(chunk);
      put({ standing: 'answering', firstMs: run.firstMs ?? steadyMs() - begunMs, ...said(run, chunk) });
    }
    put({ standing: 'done', tookMs: steadyMs() - begunMs });
  } catch (error) {
    const tookMs = steadyMs() - begunMs;
    if (signal.aborted) put({ standing: 'stopped', tookMs });
    else if (error instanceof Refused) put({ standing: 'failed', tookMs, problem: error.message, code: error.code });
    else put({ standing: 'failed', tookMs, problem: 'The answer did not come, or broke off.', code: 'no_answer' });
  }
}

class Refused extends Error {
  readonly code: string;

  /** Errors of models are nested; those of the admin API are flat. */
  constructor(body: Chunk) {
    const { message = 'It was refused.', code = '' } = body.error ?? body;
    super(message);
    this.name = 'Refused';
    this.code = code;
  }
}

async function* chunksOf(response: Response): AsyncGenerator<Chunk> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (!isStream || response.body === null) {
    yield (await response.json()) as Chunk;
    return;
  }
  for await (const data of eventsOf(response.body)) if (data !== '[DONE]') yield JSON.parse(data) as Chunk;
}

function said(run: Run, { model, usage, choices = [] }: Chunk): Partial<Run> {
  const spoken = choices[0]?.delta ?? choices[0]?.message;
  return {
    text: run.text + (spoken?.content ?? ''),
    thoughts: run.thoughts + (spoken?.reasoning_content ?? ''),
    ...(model === undefined ? {} : { model }),
    ...(usage === undefined || usage === null ? {} : { usage }),
  };
}
