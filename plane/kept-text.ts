// A text that is dear to render, for readers who ask often: rendered once at a time, and kept for a while.
import { singleFlight } from '../store/single-flight.ts';

/** Whoever has such a text. */
export interface TextSource {
  text(): Promise<string>;
}

/**
 * The same source, whose text is at most `maxAgeMs` old (0: every reader has a new one, unless one is being rendered). Readers who ask
 * meanwhile share it. `nowMs` in milliseconds; where it goes back, the text is rendered anew.
 */
export function keepText<Source extends TextSource>(source: Source, maxAgeMs: number, nowMs: () => number): Source {
  let kept = '';
  let renderedAtMs = Number.NaN;
  const rendering = singleFlight(async () => {
    kept = await source.text();
    renderedAtMs = nowMs();
    return kept;
  });
  return {
    ...source,
    async text() {
      const ageMs = nowMs() - renderedAtMs;
      const isFresh = !rendering.isRunning() && ageMs >= 0 && ageMs < maxAgeMs;
      return isFresh ? kept : rendering.join();
    },
  };
}
