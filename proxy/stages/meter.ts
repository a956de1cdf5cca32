// What stands between a provider's bytes and the client: passes them on, ends them well or badly, and knows what they cost.
import type { Exchange } from '../connection/exchange.ts';
import { StreamTap } from '../dialects/openai/stream-tap.ts';
import { envelope, errors, refusal } from '../errors.ts';
import { measurePassing, measureStream } from '../tokens/measure.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import { createUsageReader } from '../tokens/usage-reader.ts';
import type { Failure } from '../upstream/failure.ts';
import type { Accepted } from './attempt.ts';

/** Writes an answer to the client, and knows what passed so far. */
export interface Meter {
  /** False when the client needs a pause. */
  write(chunk: Buffer): boolean;
  /** Ends the client's answer; the status of the error that broke it off, if one did. */
  end(failure: Failure | undefined): number | undefined;
  /** The client left, and only the usage is still to come. */
  awaitsUsage(): boolean;
  /** Reads on for a client that left; true when there is no more to wait for. */
  drain(chunk: Buffer): boolean;
  measure(): TokenUsage;
}

/** A usage event and what may come in front of it. What is longer is no such thing. Bytes. */
const mostDrainedBytes = 64 * 1024;

/** Passes bytes through; a broken answer breaks the connection, so that it never looks like a complete one. */
export function plainMeter(accepted: Accepted, readsUsage: boolean, { response }: Exchange): Meter {
  const reader = createUsageReader();
  return {
    write(chunk) {
      if (readsUsage) reader.push(chunk);
      return response.write(chunk);
    },
    end(failure) {
      if (failure === undefined) response.end();
      else response.destroy();
      return failure && errors[failure.code].status;
    },
    awaitsUsage: () => false,
    drain: () => true,
    measure: () => measurePassing(accepted, reader),
  };
}

/** Passes whole events through; a broken stream ends with an error event and without the terminal one. */
export function streamMeter(accepted: Accepted, readsUsage: boolean, { response, id }: Exchange): Meter {
  const { answer, target, injectedUsage } = accepted;
  const { name: provider, secrets } = target.upstream;
  // A body that ends with the connection may have been cut: only the terminal event proves that it was not.
  const tap = new StreamTap({ dropsUsage: injectedUsage, readsUsage, watchesEnd: !answer.framed, secrets });
  let drained = 0;
  return {
    write(chunk) {
      const bytes = tap.push(chunk);
      return bytes.length === 0 || response.write(bytes);
    },
    end(failure) {
      // Whatever goes wrong behind the terminal event is nothing to the client.
      const whole = tap.finished() || (failure === undefined && answer.framed);
      if (whole) {
        response.end(tap.rest());
        return undefined;
      }
      const code =
        failure === undefined || failure.code === 'upstream_disconnected' ? 'stream_incomplete' : failure.code;
      const fill = { reason: failure?.reason ?? '', request_id: id };
      const isOwn = code === 'internal_error' || code === 'key_revoked';
      const refused = refusal(code, isOwn ? { fill } : { fill, provider });
      response.end(`${tap.insideEvent ? '\n\n' : ''}data: ${envelope(refused)}\n\n`);
      return errors[code].status;
    },
    awaitsUsage: () => tap.awaitsUsage(),
    drain(chunk) {
      drained += chunk.length;
      tap.push(chunk);
      return tap.usage() !== undefined || drained > mostDrainedBytes;
    },
    measure: () => measureStream(accepted, tap),
  };
}
