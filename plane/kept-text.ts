// Caches a text that is expensive to render.
import { singleFlight } from '../store/single-flight.ts';

export interface TextSource {
  text(): Promise<string>;
}

/**
 * The source with a cached text, at most `maxAgeMs` milliseconds old. Calls during a rendering share its result, also
 * when `maxAgeMs` is 0. When the clock `nowMs` goes back, the text is rendered again.
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
