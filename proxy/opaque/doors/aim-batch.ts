// POST /v1/batches: the batch goes where its input file is kept.
import { parseObject, textOf, writeJson } from '../../dialects/json/json.ts';
import { refusal } from '../../errors.ts';
import { ownerOf } from '../../kept/owner.ts';
import { refuseDrained } from '../../providers/drained-refusal.ts';
import { findTarget } from '../../snapshot/find-target.ts';
import { requirePrice } from '../../stages/priced.ts';
import { membersOf, onlyMember } from '../batch-lines.ts';
import type { Aim, DoorParts, Knock, ModelsOfDoor } from '../door.ts';
import { refuseUnguarded } from '../guard-body.ts';
import { wholeBody } from '../whole-body.ts';
import { findKept, keptThings, noteFiles } from './aim-home.ts';
import { recordTaps, storeTarget } from './store-target.ts';

/** The longest body: it names a file and some metadata. Bytes. */
const mostBytes = 1024 * 1024;

/** Members that say nothing to a model. */
const known: ReadonlySet<string> = new Set([
  'input_file_id',
  'endpoint',
  'completion_window',
  'metadata',
  'output_expires_after',
]);

/** Which models a batch may name: those of providers that keep its file, too. */
export const modelsOfBatches: ModelsOfDoor = {
  canAsk: ({ upstream: { stores } }) => stores.files !== undefined && stores.batches !== undefined,
  isAssumed: ({ upstream: { stores } }) => stores.files?.isAssumed === true || stores.batches?.isAssumed === true,
  choice: 'keeper',
  refusedAs: 'unsupported_operation',
};

/**
 * Throws 400 `invalid_parameter` for a batch without a file that was read as one, `unsupported_operation` where the provider of the file
 * has no batches, 404 `kept_not_found`, and 503 `target_drained` where the provider or a model of the file is taken out.
 */
export async function aimBatch(knock: Knock, gateway: DoorParts): Promise<Aim> {
  const { exchange, principal } = knock;
  const sent = await wholeBody(knock, { bytes: mostBytes, setting: '' });
  onlyMember(sent, membersOf(sent), 'input_file_id');
  const batch = parseObject(sent.toString()) ?? {};
  if (Object.keys(batch).some((name) => !known.has(name)))
    refuseUnguarded(knock, `members of a batch other than ${[...known].join(', ')}`);
  const fileId = textOf(batch['input_file_id']);
  if (fileId === undefined) throw unusable('must name a file that was uploaded with the purpose "batch"');
  const { upstream, key, home } = await findKept(keptThings.file, fileId, knock, gateway);
  const place = upstream.stores.batches;
  if (place === undefined) {
    const fill = { what: 'provider', name: upstream.name, path: '/v1/batches' };
    throw refusal('unsupported_operation', { param: 'input_file_id', fill });
  }
  if (!home.isBatchInput) throw unusable(`must be one uploaded with the purpose "batch", which "${fileId}" was not`);
  for (const model of home.models ?? []) {
    requirePrice(findTarget(upstream, model, knock.snapshot), `${upstream.name}/${model}`, knock);
    refuseDrained({ upstream, model }, gateway);
  }
  // The parsed body is sent, because two readers must not find different files.
  const body = Buffer.from(writeJson(batch));
  knock.capture?.takeGuarded(body);
  const { rawHeaders } = exchange.request;
  const asked = { upstream, place, store: 'batches', key, suffix: '', rawHeaders } as const;
  return {
    targets: [storeTarget({ ...asked, contentType: 'application/json', body: () => body })],
    call: undefined,
    tap: (answer) =>
      recordTaps(upstream, answer, (record) => {
        const id = textOf(record['id']);
        if (id === undefined) return;
        const owner = ownerOf(principal);
        gateway.homes.remember('batch', id, owner, { ...home, key: key.mark, isBatchInput: false });
        gateway.homes.begin('batch', id, owner, home.models ?? []);
        noteFiles(record, { ...home, key: key.mark }, owner, gateway);
      }),
  };
}

function unusable(because: string): Error {
  return refusal('invalid_parameter', { param: 'input_file_id', fill: { param: 'input_file_id', because } });
}
