// Reads the chunks of a streamed text completion: those of chat, but for the place of their text.

import { ChunkReader } from '../chat/read/read-events.ts';
import type { StreamEvent } from '../conversation/stream-event.ts';
import { isObject, type JsonObject, listOf } from '../json/json.ts';

export class CompletionReader extends ChunkReader {
  override readBody(body: JsonObject): readonly StreamEvent[] {
    const choices = (listOf(body['choices']) ?? []).filter(isObject).map(({ text, ...choice }) => ({
      ...choice,
      logprobs: null,
      delta: { content: text },
    }));
    return super.readBody({ ...body, choices });
  }
}
