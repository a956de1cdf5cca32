// The doors for speech, images, moderation and ranking: a short JSON body goes to the model that it names, the answer comes back as it is.
import { onlyPath } from '../../../domain/conditions/facts.ts';
import { splice } from '../../bytes/splice.ts';
import { type Call, largeBytes, readCall } from '../../call/call.ts';
import { parseObject } from '../../dialects/json/json.ts';
import { followed } from '../../pacing/slices.ts';
import type { MediaOperation } from '../../providers/row.ts';
import { moderationModel } from '../../snapshot/compile-routes.ts';
import type { Route } from '../../snapshot/snapshot.ts';
import { expectJson } from '../../stages/receive.ts';
import { permittedPart, suitablePart, visibleRoute } from '../../stages/resolve.ts';
import type { Aim, DoorParts, Knock, OpaqueDoor } from '../door.ts';
import { doorFacts } from '../door-facts.ts';
import { guardBody } from '../guard-body.ts';
import { spokenCharacters } from '../usage/media-usage.ts';
import { wholeBody } from '../whole-body.ts';
import { aimAtModel, mediaDoor, pathOfMedia, routeOfMedia } from './aim-model.ts';
import { claimBody } from './claim-body.ts';

/** Longest body. Bytes. */
const mostBytes = largeBytes;

export const jsonDoors: readonly OpaqueDoor[] = [
  jsonDoor('speech'),
  jsonDoor('image_generations'),
  jsonDoor('moderations'),
  jsonDoor('rerank'),
];

function jsonDoor(operation: MediaOperation): OpaqueDoor {
  return {
    ...mediaDoor(operation),
    bodySetting: 'body_limit',
    shortBytes: mostBytes,
    aim: (knock, gateway) => aimJson(operation, knock, gateway),
  };
}

/** Throws 415 for a body that is not JSON, 413 for a long one, 400 for one that is no model call, and what `aimAtModel` throws. */
function aimJson(operation: MediaOperation, knock: Knock, gateway: DoorParts): Aim | Promise<Aim> {
  const { exchange, snapshot, short } = knock;
  expectJson(exchange, snapshot.bodyLimitBytes);
  const aimed = (received: Buffer): Aim | Promise<Aim> => {
    const claimed = claimBody(received, knock, gateway);
    const aimThere = (): Aim | Promise<Aim> => aim(operation, received, knock, gateway);
    return claimed === undefined ? aimThere() : claimed.then(aimThere);
  };
  return short === undefined ? wholeBody(knock, { bytes: mostBytes, setting: '' }).then(aimed) : aimed(short);
}

/** A call, and where its model leads. */
interface Routed {
  readonly call: Call;
  readonly route: Route;
}

/** Throws what `readCall` and `resolve` do. */
function routed(operation: MediaOperation, received: Buffer, knock: Knock): Routed {
  const { snapshot, principal } = knock;
  const usual = visibleRoute(snapshot, moderationModel, onlyPath(principal.userPath)) ?? snapshot.moderation;
  if (operation === 'moderations' && usual !== undefined && namesNoModel(received)) {
    const call = readCall(withModel(received, moderationModel));
    const { model, stream } = call;
    knock.noteAsked({ model, stream });
    const suitable = suitablePart(usual, model, doorFacts(knock, pathOfMedia(operation), { said: call, stream }));
    return { call, route: permittedPart(suitable, call, snapshot, principal.allowedModels) };
  }
  const call = readCall(received);
  return { call, route: routeOfMedia(operation, call, knock, call) };
}

function namesNoModel(received: Buffer): boolean {
  const body = parseObject(received.toString('utf8'));
  return body !== undefined && !('model' in body);
}

/** The bytes of an object with one more member. */
function withModel(received: Buffer, model: string): Buffer {
  const start = received.indexOf('{') + 1;
  const isEmpty = received.toString('utf8', start).trim() === '}';
  const bytes = Buffer.from(`"model":${JSON.stringify(model)}${isEmpty ? '' : ','}`);
  return splice(received, [{ start, end: start, bytes }]);
}

function aim(operation: MediaOperation, received: Buffer, knock: Knock, gateway: DoorParts): Aim | Promise<Aim> {
  const { call, route } = routed(operation, received, knock);
  const guarded = guardBody({ operation, call, route }, knock);
  const aimed = ({ body, members, model, modelStart: start, modelEnd: end, stream }: Call): Aim =>
    aimAtModel(
      {
        operation,
        model,
        stream,
        route,
        said: { body, members },
        characters: operation === 'speech' && knock.readsUsage ? spokenCharacters(body) : undefined,
        bodyFor: ({ modelJson: bytes }) => splice(body, [{ start, end, bytes }]),
      },
      knock,
      gateway,
    );
  return followed(guarded, aimed);
}
