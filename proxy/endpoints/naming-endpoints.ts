// The endpoints where a request names a model, of all lines: one table, made of their own rows.

import type { ModelsOfDoor, OpaqueDoor } from '../opaque/door.ts';
import { doors } from '../opaque/doors.ts';
import { hasRealtime, sessionPath, signallingDoors } from '../realtime/doors.ts';
import { isEstimated } from '../stages/candidates.ts';
import { type ModelEndpoint, mirroredOperations, modelEndpoints } from './model-endpoints.ts';
import type { Manner, NamingEndpoint } from './naming-endpoint.ts';

const native: Manner = { relay: 'bytes' };
const assumed: Manner = { relay: 'bytes', isAssumed: true };

/** By their paths. Explanations and lists of models read it. */
export const namingEndpoints: ReadonlyMap<string, NamingEndpoint> = new Map(
  [
    ...modelEndpoints.map(ofModels),
    ...doors.flatMap((door) => (door.models === undefined ? [] : [ofDoor(door, door.models)])),
    ofRealtime(sessionPath, 'session'),
    ...signallingDoors.map(({ path }) => ofRealtime(path, 'answer')),
  ].map((endpoint) => [endpoint.path, endpoint]),
);

function ofModels({ path, operation, isCounted, refusedAs }: ModelEndpoint): NamingEndpoint {
  return {
    path,
    line: 'model',
    counts: isCounted ? 'everything' : 'nothing',
    slot: isCounted ? 'answer' : 'none',
    mannerOf: ({ speeches }) => {
      const speech = speeches[operation];
      return speech?.translation === undefined ? speech && native : { relay: 'translated', format: speech.format };
    },
    isMirrored: mirroredOperations.has(operation),
    choice: 'strategy',
    answersAlone: isEstimated(operation),
    refusedAs,
  };
}

function ofDoor({ path, counts }: OpaqueDoor, { canAsk, isAssumed, choice, refusedAs }: ModelsOfDoor): NamingEndpoint {
  return {
    path,
    line: 'opaque',
    counts,
    slot: counts === 'everything' ? 'answer' : 'none',
    mannerOf: (target) => {
      if (!canAsk(target)) return undefined;
      return isAssumed?.(target) ? assumed : native;
    },
    isMirrored: false,
    choice,
    answersAlone: false,
    refusedAs,
  };
}

function ofRealtime(path: string, slot: 'answer' | 'session'): NamingEndpoint {
  return {
    path,
    line: 'realtime',
    counts: 'everything',
    slot,
    mannerOf: (target) => (hasRealtime(target) ? native : undefined),
    isMirrored: false,
    choice: 'strategy',
    answersAlone: false,
    refusedAs: 'unsupported_operation',
  };
}
