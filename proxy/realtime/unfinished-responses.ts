// The usage of responses that are not over when their session ends: their provider does not report it any more.
import { parseObject, textOf } from '../dialects/json/json.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';

/** An event says its type and its response at its beginning. Bytes. */
const beginning = 512;
const typed = /"type"\s*:\s*"response\.(created|done|[a-z_.]*delta)"/;
const named = /"(resp_[A-Za-z0-9_-]{1,128})"/;
const charactersPerToken = 4;
/** A token of sound is 50 ms: 2,400 bytes in the usual form (16 bits, 24 kHz), written in base 64. */
const charactersPerSoundToken = 3_200;
/** Longer pieces of a text are none. Bytes. */
const longestPiece = 64 * 1024;
/** Providers make one at a time, and some beside it. */
const mostOpen = 16;

/** The part of a response that has come. */
interface Open {
  characters: number;
  soundCharacters: number;
}

export class UnfinishedResponses {
  readonly #open = new Map<string, Open>();

  /** An event of the provider. */
  see(event: Buffer): void {
    const head = event.toString('latin1', 0, beginning);
    const kind = typed.exec(head)?.[1];
    if (kind === undefined) return;
    const id = named.exec(head)?.[1] ?? '';
    if (kind === 'done') this.#open.delete(id);
    else if (kind !== 'created') this.#add(id, kind, event);
    else if (this.#open.size < mostOpen) this.#open.set(id, { characters: 0, soundCharacters: 0 });
  }

  /** Estimated of what was said, as far as it came; undefined: no response was under way. */
  usage(): TokenUsage | undefined {
    if (this.#open.size === 0) return undefined;
    let [characters, sound] = [0, 0];
    for (const open of this.#open.values()) {
      characters += open.characters;
      sound += open.soundCharacters;
    }
    const audioOutputTokens = Math.ceil(sound / charactersPerSoundToken);
    const outputTokens = Math.ceil(characters / charactersPerToken) + audioOutputTokens;
    return { inputTokens: 0, outputTokens, totalTokens: outputTokens, source: 'partial', audioOutputTokens };
  }

  #add(id: string, kind: string, event: Buffer): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    if (kind.endsWith('audio.delta')) open.soundCharacters += Math.max(0, event.length - beginning);
    else if (event.length <= longestPiece)
      open.characters += textOf(parseObject(event.toString())?.['delta'])?.length ?? 0;
  }
}
