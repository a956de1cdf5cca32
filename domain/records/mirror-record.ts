// How the answer of a mirror compares with that of the target whose request was copied to it.
import type { NanoDollars } from './usage.ts';

/** The user path of the calls of mirrors: what they cost counts there, and under no consumer. */
export const mirrorPath = '/mirror';

/** One of the two answers. */
export interface ComparedAnswer {
  /** `<provider name>/<model>`. */
  readonly model: string;
  /** Absent: no answer came. */
  readonly status_code?: number;
  readonly success: boolean;
  /** From the beginning of the call to the end of its answer. */
  readonly duration_ns: number;
  /** Until the answer began; absent: it did not. */
  readonly first_byte_ns?: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Null: there is no price. */
  readonly cost: NanoDollars | null;
}

export interface MirrorRecord {
  /** That declares the mirror. */
  readonly alias: string;
  readonly stream: boolean;
  /** The answer that the client got; where all targets failed, the last one. */
  readonly primary: ComparedAnswer;
  readonly mirror: ComparedAnswer;
  /** The cosine of the embeddings of both texts; absent: they were not compared. */
  readonly similarity?: number;
}
