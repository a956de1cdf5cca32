// An answer in pieces, as it comes.
import type { JsonValue } from '../json/json.ts';
import type { ConversationUsage, Finish } from './conversation.ts';
import type { Citation, ForeignPart, Part, Signature } from './parts.ts';

/**
 * A part at its start. A part that comes as a whole (`foreign`, an image, encrypted reasoning) is opened whole and gets
 * no deltas.
 */
export type OpenedPart =
  | { readonly kind: 'text' }
  | { readonly kind: 'refusal' }
  | { readonly kind: 'reasoning' }
  | { readonly kind: 'tool_call'; readonly id: string; readonly name: string; readonly isFreeText: boolean }
  | { readonly kind: 'whole'; readonly part: Part | ForeignPart };

/** An addition to a part. */
export type PartDelta =
  /** Of a text, a refusal, thoughts, or the input of a tool call. */
  | { readonly kind: 'text'; readonly text: string; readonly logprobs?: readonly JsonValue[] | undefined }
  /** Of the summary of thoughts; `index`: the summary it belongs to. */
  | { readonly kind: 'summary'; readonly text: string; readonly index: number }
  | { readonly kind: 'citation'; readonly citation: Citation }
  | { readonly kind: 'signature'; readonly signature: Signature }
  /** Thoughts that only their family can read. */
  | { readonly kind: 'encrypted'; readonly encrypted: Signature };

/** A failure in the middle of a stream, in the provider's words. */
export interface StreamFailure {
  readonly message: string;
  readonly code: string | null;
  /** The provider's own kind of error. */
  readonly type: string | null;
  /** The provider that failed; absent: none did, or it is not known yet. */
  readonly provider?: string | undefined;
  /** The HTTP status of the same failure in a whole answer; absent: not known yet. */
  readonly status?: number | undefined;
}

/**
 * The order: `started` first, once. Parts are numbered from 0 in the order in which they open. A part is opened, gets deltas and is closed;
 * at most one is open at a time. `usage` may come several times, each replacing the one before; its counts are of the whole answer.
 * `finished` or `failed` comes last, once, when every part is closed.
 */
export type StreamEvent =
  | { readonly kind: 'started'; readonly id: string; readonly model: string; readonly createdAt?: number | undefined }
  | { readonly kind: 'opened'; readonly index: number; readonly part: OpenedPart }
  | { readonly kind: 'delta'; readonly index: number; readonly delta: PartDelta }
  | { readonly kind: 'closed'; readonly index: number }
  | { readonly kind: 'usage'; readonly usage: ConversationUsage }
  | { readonly kind: 'finished'; readonly finish: Finish }
  | { readonly kind: 'failed'; readonly failure: StreamFailure };
