// The doors of files and batches: a row each. Lists are made of the answers of several providers (endpoints/kept-lists.ts).

import type { OpaqueDoor } from '../door.ts';
import { aimBatch, modelsOfBatches } from './aim-batch.ts';
import { aimHome, keptThings } from './aim-home.ts';
import { aimMessageBatch, modelsOfMessageBatches } from './aim-message-batch.ts';
import { aimUpload } from './aim-upload.ts';

const { file, batch, messageBatch } = keptThings;

/** All of them have this in common. Reading and uploading count nothing. */
const plain = {
  methods: ['GET'],
  surface: 'openai',
  counts: 'nothing',
  bodySetting: 'body_limit',
  shortBytes: 1024,
  relaysHeaders: false,
  isOpen: () => true,
} as const satisfies Partial<OpaqueDoor>;
/** A batch is one request of its user path, and holds no slot (spec, Limits 10). */
const submission = { ...plain, methods: ['POST'], counts: 'user_paths', shortBytes: 64 * 1024 } as const;
const anthropic = { surface: 'anthropic' } as const;

export const storeDoors: readonly OpaqueDoor[] = [
  { ...plain, path: '/v1/files', methods: ['POST'], bodySetting: 'upload_limit', shortBytes: 0, aim: aimUpload },
  { ...plain, path: '/v1/files/:id', methods: ['GET', 'DELETE'], aim: aimHome(file) },
  { ...plain, path: '/v1/files/:id/content', relaysHeaders: true, aim: aimHome(file, '/content') },
  { ...submission, path: '/v1/batches', models: modelsOfBatches, aim: aimBatch },
  { ...plain, path: '/v1/batches/:id', aim: aimHome(batch) },
  { ...plain, path: '/v1/batches/:id/cancel', methods: ['POST'], aim: aimHome(batch, '/cancel') },
  {
    ...submission,
    ...anthropic,
    path: '/v1/messages/batches',
    models: modelsOfMessageBatches,
    aim: aimMessageBatch,
  },
  { ...plain, ...anthropic, path: '/v1/messages/batches/:id', methods: ['GET', 'DELETE'], aim: aimHome(messageBatch) },
  {
    ...plain,
    ...anthropic,
    path: '/v1/messages/batches/:id/cancel',
    methods: ['POST'],
    aim: aimHome(messageBatch, '/cancel'),
  },
  {
    ...plain,
    ...anthropic,
    path: '/v1/messages/batches/:id/results',
    relaysHeaders: true,
    aim: aimHome(messageBatch, '/results'),
  },
];
