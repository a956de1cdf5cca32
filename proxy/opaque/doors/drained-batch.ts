// A batch that is passed on does not begin while it names a model that is taken out, as far as its models can be read.
import { parseObject, textOf } from '../../dialects/json/json.ts';
import { Refusal } from '../../errors.ts';
import type { FamilyName } from '../../kept/objects/families.ts';
import { ownerOf } from '../../kept/owner.ts';
import { refuseDrained } from '../../providers/drained-refusal.ts';
import type { DoorParts, Knock, OpaqueTarget } from '../door.ts';
import { requestsOf } from './aim-message-batch.ts';

/** A body that names a file is a few hundred bytes; one that is longer is not parsed, because that would hold up other requests. */
const mostBytes = 64 * 1024;

interface PassedBatch {
  readonly knock: Knock;
  /** What is made. */
  readonly family: FamilyName;
  readonly target: OpaqueTarget;
}

/**
 * Throws 503 `target_drained`. Of a batch of messages every request is read; of another one the models of its file are known if that came
 * through /v1/files.
 */
export async function refuseDrainedBatch({ knock, family, target }: PassedBatch, parts: DoorParts): Promise<void> {
  const { upstream } = target;
  if (!(family === 'batch' || family === 'message_batch') || !parts.targets.drainsModelsOf(upstream.name)) return;
  const sent = target.body();
  if (!Buffer.isBuffer(sent) || knock.exchange.head.contentEncoding !== undefined) return;
  const models = family === 'batch' ? await modelsOfFile(sent, knock, parts) : await modelsOfRequests(sent);
  for (const model of models) refuseDrained({ upstream, model }, parts);
}

async function modelsOfFile(body: Buffer, { principal }: Knock, { homes }: DoorParts): Promise<readonly string[]> {
  if (body.length > mostBytes) return [];
  const file = textOf(parseObject(body.toString())?.['input_file_id']);
  return file === undefined ? [] : ((await homes.find('file', file, ownerOf(principal)))?.models ?? []);
}

async function modelsOfRequests(body: Buffer): Promise<ReadonlySet<string>> {
  const models = new Set<string>();
  try {
    for await (const { call } of requestsOf(body)) models.add(call.model);
  } catch (error) {
    // The provider says what is wrong with it.
    if (!(error instanceof Refusal)) throw error;
  }
  return models;
}
