// The doors of opaque calls: a row each. opaque-line.ts serves them all.
import { isUnder } from '../http/known-routes.ts';
import { opaqueMethods } from '../upstream/send-opaque.ts';
import type { OpaqueDoor } from './door.ts';
import { withGate } from './doors/claim-body.ts';
import { jsonDoors } from './doors/json-doors.ts';
import { multipartDoors } from './doors/multipart-doors.ts';
import { aimOwned } from './doors/owned-passthrough.ts';
import { storeDoors } from './doors/store-doors.ts';

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
