// POST /v1/files: the form goes to the provider that is to keep the file, and its id is remembered with the caller.

import type { Call } from '../../call/call.ts';
import { boundaryOf } from '../../call/form-reader.ts';
import { textOf } from '../../dialects/json/json.ts';
import { refusal } from '../../errors.ts';
import { ownerOf } from '../../kept/owner.ts';
import type { Target, Upstream } from '../../snapshot/snapshot.ts';
import { resolve } from '../../stages/resolve.ts';
import type { LineReader } from '../batch-lines.ts';
import type { Aim, DoorParts, Knock } from '../door.ts';
import { doorFacts } from '../door-facts.ts';
import { UploadForm, type UploadStart } from '../forms/upload-form.ts';
import { refuseUnguarded } from '../guard-body.ts';
import { batchGuard, operationAt } from '../guarded-batch.ts';
import { gatedForm } from './claim-body.ts';
import { keepersOf, recordTaps, storeTarget } from './store-target.ts';

/**
 * Settles when the file begins, because only then the provider is known. Throws 400 `provider_needed`, `unknown_provider`,
 * `unsupported_operation` and `invalid_upload`.
 */
export function aimUpload(knock: Knock, gateway: DoorParts): Promise<Aim> {
  const { exchange, body } = knock;
  const contentType = exchange.request.headers['content-type'];
  const boundary = boundaryOf(contentType);
  const asked = new URLSearchParams((exchange.request.url ?? '').split('?')[1] ?? '').get('provider') ?? undefined;
  return new Promise((aimed) => {
    const guard = batchGuard(knock);
    const begun = ({ provider }: UploadStart): LineReader => {
      const upstream = keeperOf(asked ?? provider, knock);
      const models = new Map<string, Target>();
      aimed(aimAt({ upstream, form, models, contentType, knock, gateway }));
      const nameModel: LineReader['nameModel'] = (call) => {
        const target = targetAt(upstream, call, knock);
        models.set(target.model, target);
        return target.modelJson;
      };
      return { nameModel, guard: guard && ((call, url, where) => guard(operationAt(url, call), call, where)) };
    };
    const passesUnread = (): void => refuseUnguarded(knock, 'files that are not the input of a batch');
    const form = new UploadForm({ boundary, begun, passesUnread, failed: (refused) => body.fail(refused) });
    body.pipe(form);
  });
}

interface Upload {
  readonly upstream: Upstream;
  readonly form: UploadForm;
  /** Of its lines, by what the provider calls them. */
  readonly models: ReadonlyMap<string, Target>;
  readonly contentType: string | undefined;
  readonly knock: Knock;
  readonly gateway: DoorParts;
}

function aimAt({ upstream, form, models, contentType, knock, gateway }: Upload): Aim {
  const { exchange, principal, body } = knock;
  const place = upstream.stores.files;
  if (place === undefined) throw new Error('a file goes where none is kept');
  const key = upstream.credentials.pick(gateway.nowMs());
  const target = storeTarget({
    upstream,
    place,
    store: 'files',
    key,
    suffix: '',
    rawHeaders: exchange.request.rawHeaders,
    contentType,
    body: () => gatedForm({ stream: form, length: undefined, source: body }, knock, gateway, upstream.name),
  });
  return {
    targets: [target],
    call: undefined,
    tap: (answer) =>
      recordTaps(upstream, answer, (record) => {
        const id = textOf(record['id']);
        if (id === undefined || answer.status >= 300) return;
        const { isBatchInput } = form;
        gateway.homes.remember('file', id, ownerOf(principal), {
          provider: upstream.name,
          key: key.mark,
          isBatchInput,
          models: unpricedFirst(models),
        });
      }),
  };
}

/** Of many models the first are remembered: those without a price must not be missed when a batch is made of the file. */
function unpricedFirst(models: ReadonlyMap<string, Target>): string[] {
  const [unpriced = [], priced = []] = [false, true].map((hasPrice) =>
    [...models.keys()].filter((model) => (models.get(model)?.price !== undefined) === hasPrice),
  );
  return [...unpriced, ...priced];
}

/** The provider that is to keep a file. */
function keeperOf(named: string | undefined, { snapshot }: Knock): Upstream {
  const keepers = keepersOf('files', named, snapshot);
  const [only] = keepers;
  if (only === undefined) throw noKeeper(named, snapshot);
  if (keepers.length === 1) return only;
  const providers = keepers.map(({ name }) => `"${name}"`).join(', ');
  throw refusal('provider_needed', { param: 'provider', fill: { what: 'files', providers } });
}

function noKeeper(named: string | undefined, { upstreams }: Knock['snapshot']): Error {
  const isKnown = upstreams.some(({ name, type }) => name === named || type === named);
  if (named !== undefined && !isKnown)
    return refusal('unknown_provider', { param: 'provider', fill: { provider: named } });
  const name = named ?? upstreams[0]?.name ?? '';
  return refusal('unsupported_operation', { param: 'provider', fill: { what: 'provider', name, path: '/v1/files' } });
}

/** A model at the provider, for a call of a caller who may ask it. */
function targetAt(upstream: Upstream, call: Call, knock: Knock): Target {
  const { snapshot, principal } = knock;
  const { targets } = resolve(call, snapshot, principal.allowedModels, doorFacts(knock, '/v1/files'));
  const target = targets.find(({ upstream: { name } }) => name === upstream.name);
  if (target !== undefined) return target;
  const because = `leads to other providers than "${upstream.name}": "${call.model}"`;
  throw refusal('invalid_parameter', { param: 'model', fill: { param: 'model', because } });
}
