// The doors for transcripts and for changing images: a form of any length streams to the model that one of its fields names.
import { nothingSaid } from '../../call/thread.ts';
import { refusal } from '../../errors.ts';
import type { MediaOperation } from '../../providers/row.ts';
import type { Target } from '../../snapshot/snapshot.ts';
import type { OpaqueBody } from '../../upstream/send-opaque.ts';
import type { Aim, DoorParts, Knock, OpaqueDoor } from '../door.ts';
import { guardedForm } from '../forms/guarded-form.ts';
import { MultipartBody } from '../forms/multipart-body.ts';
import { boundaryOf } from '../forms/part-head.ts';
import { findingsAlone, railsFor } from '../guard-body.ts';
import { aimAtModel, mediaDoor, routeOfMedia } from './aim-model.ts';
import { mostHeldOfForm } from './said-model.ts';

export const multipartDoors: readonly OpaqueDoor[] = [
  multipartDoor('transcriptions'),
  multipartDoor('translations'),
  multipartDoor('image_edits'),
  multipartDoor('image_variations'),
];

function multipartDoor(operation: MediaOperation): OpaqueDoor {
  return {
    ...mediaDoor(operation),
    bodySetting: 'upload_limit',
    shortBytes: 0,
    aim: (knock, gateway) => aimForm(operation, knock, gateway),
  };
}

/** Rejects with 415 for what is no form, 400 for one that is malformed, has no model or has it too late, and what `aimAtModel` throws. */
async function aimForm(operation: MediaOperation, knock: Knock, gateway: DoorParts): Promise<Aim> {
  const { body, exchange, held, principal, snapshot } = knock;
  const { contentType, contentEncoding } = exchange.head;
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity')
    throw refusal('unsupported_encoding');
  const holding = { mostBytes: Math.min(mostHeldOfForm, snapshot.bodyLimitBytes), held };
  const boundary = boundaryOf(contentType);
  const form = new MultipartBody(body, boundary, holding);
  // When the client has its answer, or has left, the rest is not needed.
  exchange.response.once('close', () => form.destroy());
  const { model } = (await form.found) ?? {};
  if (model === undefined) throw refusal('invalid_model', { param: 'model' });
  const stream = false;
  const route = routeOfMedia(operation, { model, stream, routingMember: form.routingField }, knock);
  const rails = railsFor({ operation, call: { model }, route }, knock);
  if (rails !== undefined) knock.noteGuarding(findingsAlone(() => rails.findings));
  const isFree = principal.allowedModels === undefined;
  const bodyFor = ({ model: id, upstream }: Target, isOnly: boolean): OpaqueBody => {
    const sent = form.send({ id, mayRoute: isFree || upstream.allowsRoutingMembers, isKept: !isOnly });
    return rails === undefined ? sent : guardedForm(sent, { boundary, rails, failed: (refused) => body.fail(refused) });
  };
  const canSend = (): boolean => form.canSend;
  return aimAtModel({ operation, model, stream, route, said: nothingSaid, bodyFor, canSend }, knock, gateway);
}
