// The doors of opaque calls: a row each. opaque-line.ts serves them all.
import { isUnder } from '../http/known-routes.ts';
import { opaqueMethods } from '../upstream/send-opaque.ts';
import { withGate } from './claim-body.ts';
import type { OpaqueDoor } from './door.ts';
import { jsonDoors } from './json-doors.ts';
import { multipartDoors } from './multipart-doors.ts';
import { aimOwned } from './owned-passthrough.ts';
import { storeDoors } from './store-doors.ts';

export const doors: readonly OpaqueDoor[] = [
  {
    path: '/p/*',
    methods: opaqueMethods,
    surface: 'openai',
    counts: 'everything',
    bodySetting: 'upload_limit',
    shortBytes: 64 * 1024,
    relaysHeaders: true,
    isOpen: ({ servesPassthrough }) => servesPassthrough,
    aim: aimOwned,
  },
  ...jsonDoors,
  ...multipartDoors.map(withGate),
  ...storeDoors,
];

/** The door of a request; undefined: it is none of an opaque call. */
export function doorOf(method: string | undefined, path: string): OpaqueDoor | undefined {
  return doors.find((door) => isUnder(path, door.path) && door.methods.some((known) => known === method));
}
