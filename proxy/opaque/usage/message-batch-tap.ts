// The tap of a batch of messages on its way to the client: its results are had here, with the caller's key, not at the provider.
import type { Sink, Tap } from '../../answer.ts';
import { isObject, type JsonObject, parseObject, writeJson } from '../../dialects/json/json.ts';

/** Longer records are not relayed: they have some 1,000 bytes. */
const mostBytes = 1024 * 1024;

/** The record with the address of its results here: relative, so that clients put their own base URL before it. */
export function withOwnResults(record: JsonObject): JsonObject {
  const { id, results_url: address } = record;
  if (typeof id !== 'string' || typeof address !== 'string') return record;
  return { ...record, results_url: `/v1/messages/batches/${encodeURIComponent(id)}/results` };
}

export class MessageBatchTap implements Tap {
  readonly #seen: (record: JsonObject) => void;

  /** `seen` is called when the record passes. */
  constructor(seen: (record: JsonObject) => void = () => undefined) {
    this.#seen = seen;
  }

  whole(body: Buffer): Buffer {
    const record = parseObject(body.toString());
    if (!isObject(record)) return body;
    this.#seen(record);
    return Buffer.from(writeJson(withOwnResults(record)));
  }

  open(next: Sink): Sink {
    const pieces: Buffer[] = [];
    let length = 0;
    return {
      write: (chunk) => {
        length += chunk.length;
        if (length <= mostBytes) pieces.push(Buffer.from(chunk));
        return true;
      },
      end: (failure) => {
        const tooLong = { code: 'upstream_invalid_response', reason: 'it is too long' } as const;
        if (failure !== undefined || length > mostBytes) return next.end(failure ?? tooLong);
        const body = Buffer.concat(pieces);
        const own = this.whole(body);
        // The head has been written: its length stays, and spaces behind a JSON text say nothing.
        next.write(Buffer.concat([own, Buffer.alloc(Math.max(0, body.length - own.length), ' ')]));
        next.end(undefined);
      },
    };
  }

  awaitsMore(): boolean {
    return false;
  }
}
