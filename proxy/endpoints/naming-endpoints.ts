// The endpoints where a request names a model: how a target is asked at each, which of the targets are, and which rules count the request.
import type { Counting } from '../limits/counted-rules.ts';
import type { ModelsOfDoor, OpaqueDoor } from '../opaque/door.ts';
import { doors } from '../opaque/doors.ts';
import type { Speakable } from '../providers/row.ts';
import { sessionPath } from '../realtime/open-session.ts';
import { hasRealtime } from '../realtime/realtime-trip.ts';
import { signallingDoors } from '../realtime/signalling.ts';
import type { Target } from '../snapshot/snapshot.ts';
import { isEstimated } from '../stages/candidates.ts';
import { type ModelEndpoint, modelEndpoints } from './model-endpoints.ts';

/** How a target is asked. */
export interface Manner {
  /** `bytes`: it gets the client's own, but for the model's name. */
  readonly relay: 'bytes' | 'translated';
  /** What it is translated to. */
  readonly format?: Speakable;
  /** It is not known whether its server has the endpoint. */
  readonly isAssumed?: true;
}

export interface NamingEndpoint {
  readonly path: string;
  readonly counts: Counting;
  /** How long a slot of each rule on requests in flight is held. */
  readonly slot: 'none' | 'answer' | 'session';
  /** Undefined: the target cannot be asked there. The parts that serve the endpoint ask the same of it. */
  readonly mannerOf: (target: Target) => Manner | undefined;
  /** `strategy`: that of the route, one after the other; `first` and `keeper`: as `ModelsOfDoor` says. */
  readonly choice: 'strategy' | ModelsOfDoor['choice'];
  /** A target may be asked beside one that is slow. */
  readonly isHedged: boolean;
  /** What no target can be asked, the gateway answers by itself. */
  readonly answersAlone: boolean;
  readonly refusedAs: ModelsOfDoor['refusedAs'];
}

const native: Manner = { relay: 'bytes' };
const assumed: Manner = { relay: 'bytes', isAssumed: true };

/** By their paths. */
export const namingEndpoints: ReadonlyMap<string, NamingEndpoint> = new Map(
  [
    ...modelEndpoints.map(ofModels),
    ...doors.flatMap((door) => (door.models === undefined ? [] : [ofDoor(door, door.models)])),
    ofRealtime(sessionPath, 'session'),
    ...signallingDoors.map(({ path }) => ofRealtime(path, 'answer')),
  ].map((endpoint) => [endpoint.path, endpoint]),
);

function ofModels({ path, operation, isCounted }: ModelEndpoint): NamingEndpoint {
  return {
    path,
    counts: isCounted ? 'everything' : 'nothing',
    slot: isCounted ? 'answer' : 'none',
    mannerOf: ({ speeches }) => {
      const speech = speeches[operation];
      return speech?.translation === undefined ? speech && native : { relay: 'translated', format: speech.format };
    },
    choice: 'strategy',
    isHedged: true,
    answersAlone: isEstimated(operation),
    refusedAs: 'unsupported_operation',
  };
}

function ofDoor({ path, counts }: OpaqueDoor, { canAsk, isAssumed, choice, refusedAs }: ModelsOfDoor): NamingEndpoint {
  return {
    path,
    counts,
    slot: counts === 'everything' ? 'answer' : 'none',
    mannerOf: (target) => {
      if (!canAsk(target)) return undefined;
      return isAssumed?.(target) ? assumed : native;
    },
    choice,
    isHedged: false,
    answersAlone: false,
    refusedAs,
  };
}

function ofRealtime(path: string, slot: 'answer' | 'session'): NamingEndpoint {
  return {
    path,
    counts: 'everything',
    slot,
    mannerOf: (target) => (hasRealtime(target) ? native : undefined),
    choice: 'strategy',
    isHedged: false,
    answersAlone: false,
    refusedAs: 'unsupported_operation',
  };
}
