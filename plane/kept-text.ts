// A text that is dear to render, for readers who ask often: rendered once at a time, and kept for a while.

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
  let rendering: Promise<string> | undefined;

  async function render(): Promise<string> {
    try {
      kept = await source.text();
      renderedAtMs = nowMs();
      return kept;
    } finally {
      rendering = undefined;
    }
  }
  return {
    ...source,
    async text() {
      const ageMs = nowMs() - renderedAtMs;
      if (rendering === undefined && ageMs >= 0 && ageMs < maxAgeMs) return kept;
      rendering ??= render();
      return rendering;
    },
  };
}
