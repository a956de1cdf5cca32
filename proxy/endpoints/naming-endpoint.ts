// An endpoint where a request names a model: how a target is asked there, which of the targets are, and which rules count the request.
import type { Counting } from '../limits/counted-rules.ts';
import type { ModelsOfDoor } from '../opaque/door.ts';
import type { Speakable } from '../providers/row.ts';
import type { Target } from '../snapshot/snapshot.ts';

/** How a target is asked. */
export interface Manner {
  /** `bytes`: it gets the client's own, but for the model's name. */
  readonly relay: 'bytes' | 'translated';
  /** The format that it is translated to. */
  readonly format?: Speakable;
  /** It is not known whether its server has the endpoint. */
  readonly isAssumed?: true;
}

export interface NamingEndpoint {
  readonly path: string;
  /** Which one serves it: they differ in the order of their steps. */
  readonly line: 'model' | 'opaque' | 'realtime';
  readonly counts: Counting;
  /** How long a slot of each rule on requests in flight is held. */
  readonly slot: 'none' | 'answer' | 'session';
  /** Undefined: the target cannot be asked there. The parts that serve the endpoint ask the same of it. */
  readonly mannerOf: (target: Target) => Manner | undefined;
  /** A share of its requests may be copied to the mirror of their alias. */
  readonly isMirrored: boolean;
  readonly choice: ModelsOfDoor['choice'];
  /** Whether the gateway itself answers when no target has the endpoint. */
  readonly answersAlone: boolean;
  readonly refusedAs: ModelsOfDoor['refusedAs'] | 'endpoint_not_supported';
}
