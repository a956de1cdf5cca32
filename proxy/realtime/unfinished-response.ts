// What a response of a session has used that is not over when the session ends: its provider does not tell that any more.
import { parseObject, textOf } from '../dialects/json.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';

/** An event says its type at its beginning. Bytes. */
const beginning = 256;
const typed = /"type"\s*:\s*"response\.(created|done|[a-z_.]*delta)"/;
const charactersPerToken = 4;
/** A token of sound is 50 ms: 2,400 bytes in the usual form (16 bits, 24 kHz), written in base 64. */
const charactersPerSoundToken = 3_200;
/** Longer pieces of a text are none. Bytes. */
const longestPiece = 64 * 1024;

export class UnfinishedResponse {
  #isOpen = false;
  #characters = 0;
  #soundCharacters = 0;

  /** An event of the provider. */
  see(event: Buffer): void {
    const kind = typed.exec(event.toString('latin1', 0, beginning))?.[1];
    if (kind === undefined) return;
    if (kind === 'created' || kind === 'done') {
      this.#isOpen = kind === 'created';
      this.#characters = 0;
      this.#soundCharacters = 0;
    } else if (this.#isOpen && kind.endsWith('audio.delta'))
      this.#soundCharacters += Math.max(0, event.length - beginning);
    else if (this.#isOpen && event.length <= longestPiece)
      this.#characters += textOf(parseObject(event.toString())?.['delta'])?.length ?? 0;
  }

  /** Estimated of what was said, as far as it came; undefined: no response was under way. */
  usage(): TokenUsage | undefined {
    if (!this.#isOpen) return undefined;
    const audioOutputTokens = Math.ceil(this.#soundCharacters / charactersPerSoundToken);
    const outputTokens = Math.ceil(this.#characters / charactersPerToken) + audioOutputTokens;
    return { inputTokens: 0, outputTokens, totalTokens: outputTokens, source: 'partial', audioOutputTokens };
  }
}
