// Speech, images, moderation and ranking: the body names a model, all else goes to its provider and comes back as it is.
import { modelCallRefusals, nativeRefusals } from './model-call.ts';
import { limitHeaders, type Operation, type Refusals } from './operation.ts';

interface Described {
  readonly id: string;
  readonly path: string;
  readonly summary: string;
}

const says =
  'Only `model` is read and replaced by the id of the provider; its answer comes back as it is, of any content type. The first target of the model that has room is asked, once; its strategy decides which comes first, and one that fails comes last. A provider without this endpoint is answered 400 `unsupported_operation`. Usage counts as the provider reports it.';

const form =
  'The body is multipart/form-data of any length up to `server.upload_limit`, and goes to the provider while it comes. Send the field `model` before the file: until it has come, up to 32 MiB are held (`server.body_limit`, if that is less), and no more. A form has at most 64 parts.';

const json: readonly Described[] = [
  {
    id: 'createSpeech',
    path: '/v1/audio/speech',
    summary: 'Reads a text out; the answer is sound, or an event stream.',
  },
  { id: 'createImage', path: '/v1/images/generations', summary: 'Makes images from a text.' },
  {
    id: 'createModeration',
    path: '/v1/moderations',
    summary: 'Says whether a text or an image may be harmful. Without a model, omni-moderation-latest is asked.',
  },
  {
    id: 'rerank',
    path: '/v1/rerank',
    summary: 'Orders documents by how well they answer a query, in the format of Cohere.',
  },
];

const forms: readonly Described[] = [
  { id: 'createTranscription', path: '/v1/audio/transcriptions', summary: 'Writes down what is said in a recording.' },
  {
    id: 'createTranslation',
    path: '/v1/audio/translations',
    summary: 'Writes down in English what is said in a recording.',
  },
  { id: 'editImage', path: '/v1/images/edits', summary: 'Changes images by a text.' },
  { id: 'createImageVariation', path: '/v1/images/variations', summary: 'Makes images that are like one.' },
];

const formRefusals: Refusals = {
  ...modelCallRefusals,
  400: [
    'malformed_multipart',
    'model_too_late',
    'invalid_model',
    'duplicate_key',
    'routing_member_not_allowed',
    'no_target_matches',
    'unsupported_operation',
  ],
  415: ['multipart_expected', 'unsupported_encoding'],
};

/** Served by the proxy. */
export const mediaOperations: readonly Operation[] = [
  ...json.map((each) => operation(each, `The body is JSON of up to 1 MiB. ${says}`, nativeRefusals)),
  ...forms.map((each) => operation(each, `${form} ${says}`, formRefusals)),
];

function operation({ id, path, summary }: Described, description: string, refusals: Refusals): Operation {
  return {
    id,
    method: 'post',
    path,
    tag: 'Model API',
    access: 'client',
    isOpaque: true,
    summary,
    description,
    parameters: ['UserPath'],
    success: {
      status: 200,
      says: 'The answer of the provider.',
      headers: ['x-upstream-request-id', ...limitHeaders],
    },
    refusals,
  };
}
