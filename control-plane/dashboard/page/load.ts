// Data of a page: asked for when it is shown, again while it is looked at, and at once when a lost control plane is back.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, ask } from './api.ts';
import { connection } from './connection.ts';
import { nowMs, steadyMs } from './time.ts';

export interface Load<Body> {
  /** The last answer; undefined until there is one for this address. */
  readonly body: Body | undefined;
  /** Why the last attempt failed; the body, if any, is older. */
  readonly error: ApiError | undefined;
  /** When the body came. Unix milliseconds. */
  readonly loadedMs: number;
  readonly reload: () => void;
}

/** Nothing is asked more often. Milliseconds. */
const shortestPauseMs = 1_000;
/** A slow answer is not asked for again before so many times as long. */
const slowness = 8;

interface Loaded<Body> extends Omit<Load<Body>, 'reload'> {
  readonly path: string | undefined;
}

/**
 * `path` undefined: nothing is asked. `everyMs`: how often it is asked again while the page is visible; absent: never, but for `reload` and
 * a control plane that is back.
 */
export function useLoad<Body>(path: string | undefined, everyMs?: number): Load<Body> {
  const nothing: Loaded<Body> = { path, body: undefined, error: undefined, loadedMs: 0 };
  const [loaded, setLoaded] = useState<Loaded<Body>>(nothing);
  const again = useRef<() => void>(() => undefined);
  useEffect(() => {
    if (path === undefined) return undefined;
    const turn = new Turn<Body>(path, everyMs, setLoaded);
    again.current = () => turn.now();
    const stopWatching = connection.watch(({ isUp }) => isUp && turn.now());
    const onVisible = (): void => turn.now();
    document.addEventListener('visibilitychange', onVisible);
    turn.now();
    return () => {
      stopWatching();
      document.removeEventListener('visibilitychange', onVisible);
      turn.end();
    };
  }, [path, everyMs]);
  const reload = useCallback(() => again.current(), []);
  return { ...(loaded.path === path ? loaded : nothing), reload };
}

type Tell<Body> = (change: (before: Loaded<Body>) => Loaded<Body>) => void;

/** One address that is asked for again and again; one request at a time. */
class Turn<Body> {
  readonly #path: string;
  readonly #everyMs: number | undefined;
  readonly #tell: Tell<Body>;
  readonly #over = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;
  #isDue = false;

  constructor(path: string, everyMs: number | undefined, tell: Tell<Body>) {
    this.#path = path;
    this.#everyMs = everyMs;
    this.#tell = tell;
  }

  now(): void {
    clearTimeout(this.#timer);
    if (document.hidden) return;
    if (this.#isAsking) this.#isDue = true;
    else void this.#ask();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#over.abort();
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    const begunMs = steadyMs();
    const path = this.#path;
    try {
      const { body } = await ask<Body>(path, { signal: this.#over.signal });
      this.#tell(() => ({ path, body, error: undefined, loadedMs: nowMs() }));
    } catch (error) {
      if (!this.#over.signal.aborted) {
        this.#tell((before) => ({
          ...before,
          path,
          body: before.path === path ? before.body : undefined,
          error: error as ApiError,
        }));
      }
    }
    this.#isAsking = false;
    if (this.#over.signal.aborted) return;
    const tookMs = steadyMs() - begunMs;
    if (this.#isDue) this.#later(shortestPauseMs);
    else if (this.#everyMs !== undefined && connection.value.isUp) {
      this.#later(Math.max(this.#everyMs, shortestPauseMs, tookMs * slowness));
    }
    this.#isDue = false;
  }

  #later(pauseMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.now(), pauseMs);
  }
}
