// The doors for transcripts and for changing images: a form of any length streams to the model that one of its fields names.
import { nothingSaid } from '../call/thread.ts';
import { refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { MediaOperation } from '../providers/row.ts';
import { aimAtModel, mediaDoor } from './aim-model.ts';
import type { Aim, Knock, OpaqueDoor } from './door.ts';
import { MultipartBody } from './multipart-body.ts';
import { boundaryOf } from './part-head.ts';
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
async function aimForm(operation: MediaOperation, knock: Knock, gateway: Gateway): Promise<Aim> {
  const { body, exchange, held, principal, snapshot } = knock;
  const { contentType, contentEncoding } = exchange.head;
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity')
    throw refusal('unsupported_encoding');
  const holding = { mostBytes: Math.min(mostHeldOfForm, snapshot.bodyLimitBytes), held };
  const form = new MultipartBody(body, boundaryOf(contentType), holding);
  // When the client has its answer, or has left, the rest is not needed.
  exchange.response.once('close', () => form.destroy());
  const { model } = (await form.found) ?? {};
  if (model === undefined) throw refusal('invalid_model', { param: 'model' });
  const isFree = principal.allowedModels === undefined;
  return aimAtModel(
    {
      operation,
      model,
      stream: false,
      routingMember: form.routingField,
      said: nothingSaid,
      bodyFor: ({ model: id, upstream }, isOnly) =>
        form.send({ id, mayRoute: isFree || upstream.allowsRoutingMembers, isKept: !isOnly }),
      canSend: () => form.canSend,
    },
    knock,
    gateway,
  );
}
