// The door /p/{provider}/{endpoint}: a request goes to a provider as it is, with the gateway's key in place of the client's.

import { allowsTarget } from '../../../domain/keys/model-access.ts';
import { withoutSecrets } from '../../../schemas/formats/key-shapes.ts';
import { pathOf } from '../../call/head.ts';
import { Refusal, refusal } from '../../errors.ts';
import { alwaysGuarded, guardsModel } from '../../guardrails/applying.ts';
import { noWebSocket } from '../../http/known-routes.ts';
import { relayedOf } from '../../providers/dialects.ts';
import type { Speaker } from '../../providers/provider-error.ts';
import { SecretsTap } from '../../providers/secrets-tap.ts';
import { knownSecrets } from '../../records/known-secrets.ts';
import { findTarget } from '../../snapshot/find-target.ts';
import type { Snapshot, Upstream } from '../../snapshot/snapshot.ts';
import { requirePrice } from '../../stages/priced.ts';
import type { TargetStates } from '../../targets/target-states.ts';
import { isFree } from '../../tokens/measure.ts';
import { UsageTap } from '../../tokens/usage-tap.ts';
import type { UpstreamAnswer } from '../../upstream/upstream-answer.ts';
import type { Aim, DoorParts, Knock, NamedLate, OpaqueTarget, Tapped } from '../door.ts';
import { ModelSpotter } from '../model-spotter.ts';
import { forwardedHeaders } from '../request-headers.ts';
import { backgroundTaps } from '../usage/background-taps.ts';
import { passedUsage } from '../usage/passed-usage.ts';
import { wholeBody } from '../whole-body.ts';
import {
  keepsItsBody,
  modelContract,
  modelOfPath,
  modelsOfQuery,
  operationOf,
  plainModel,
  takesModelFromBody,
} from './model-of-path.ts';
import { type ProviderPath, pathBelow, readProviderPath } from './provider-path.ts';
import { type Said, type Searched, saidInShort, searchBody } from './said-model.ts';

/** A request that is signed is read whole before: up to this many bytes. */
const mostSignedBytes = 16 * 1024 * 1024;
const nothing: Buffer = Buffer.alloc(0);
/** Of a body in which no model can be read. */
const unreadable: ReadonlySet<string> = new Set([
  'invalid_json',
  'invalid_model',
  'malformed_multipart',
  'multipart_expected',
  'unsupported_media_type',
  'unsupported_encoding',
]);
const webSocket = /^\s*websocket\b/i;

/**
 * Where a request behind `/p/` goes: to the provider with the name in its path, else to the first one of that type that the caller may use.
 * Where a rule on models or the caller's key asks which model it is, that is found before anything is sent. Throws 403
 * `guardrails_prevent_passthrough`, 400 `invalid_path` and `unknown_provider`, 426 `upgrade_not_supported`, 403 `model_access_denied` for a caller
 * restricted to models whose model cannot be read or is none of them, 400 `routing_member_not_allowed`, 413 for what is too long to be signed,
 * and what `searchBody` rejects with.
 */
export function aimPassthrough(knock: Knock, parts: DoorParts): Aim | Promise<Aim> {
  const { exchange, principal, snapshot, short } = knock;
  // Passed bodies are not read, so guardrails cannot check them.
  if (alwaysGuarded(snapshot.guardrails, principal.userPath)) throw refusal('guardrails_prevent_passthrough');
  if (webSocket.test(exchange.request.headers.upgrade ?? '')) throw noWebSocket(pathOf(exchange.request.url ?? ''));
  const path = readProviderPath(exchange.request.url ?? '');
  const upstreams = upstreamsOf(path.provider, snapshot, parts.targets);
  const [first] = upstreams;
  if (first === undefined) throw refusal('unknown_provider', { fill: { provider: path.provider } });
  const isSigned = first.opaque.keyStyle === 'aws';
  if (isSigned && short === undefined)
    return wholeBody(knock, { bytes: mostSignedBytes, setting: '' }).then((whole) =>
      aimAt({ path, upstreams, knock: { ...knock, short: whole } }, parts),
    );
  return aimAt({ path, upstreams, knock }, parts);
}

/** A request, and the provider that it asks. */
interface PassthroughRequest {
  readonly path: ProviderPath;
  /** Those that are meant; at least one. */
  readonly upstreams: readonly Upstream[];
  readonly knock: Knock;
}

function aimAt(asked: PassthroughRequest, parts: DoorParts): Aim | Promise<Aim> {
  const { path, upstreams, knock } = asked;
  const { exchange, short, body } = knock;
  if (mustSearch(asked, parts))
    return searchFor(asked).then((found) => aimWith({ path, knock, found, upstream: granted(asked, found) }, parts));
  const said = short === undefined ? undefined : saidInShort(short, exchange.head.contentEncoding);
  const found: Searched = {
    ...(said ?? { model: undefined, stream: false, routingMember: undefined }),
    text: said === undefined ? undefined : short,
    body: () => short ?? { stream: body, length: body.declaredLength, source: body },
  };
  return aimWith({ path, knock, found, upstream: upstreams[0] as Upstream }, parts);
}

/** Whether what the body says decides: for a restricted caller, and where a rule on models, or a model that is taken out, may refuse the call. */
function mustSearch(
  { path: { read }, upstreams, knock }: PassthroughRequest,
  { limiter, targets }: Pick<DoorParts, 'limiter' | 'targets'>,
): boolean {
  if (knock.principal.allowedModels !== undefined) return true;
  if (knock.short?.length === 0 || keepsItsBody(read) || modelOfPath(read) !== undefined) return false;
  const { name } = upstreams[0] as Upstream;
  const { principal, snapshot } = knock;
  const isBudgeted = snapshot.budgeted?.subjectFor(principal.userPath, principal.labels) !== undefined;
  const mayBeRefused = limiter.limitsModelsOf(name) || targets.drainsModelsOf(name);
  return isBudgeted || mayBeRefused || asksGuardedModel(knock, undefined, name);
}

/** Of a call that may ask a model, whether a guardrail is enforced for that one. `model` undefined: it is not known. */
function asksGuardedModel(
  { method, principal, snapshot }: Knock,
  model: string | undefined,
  provider: string,
): boolean {
  return method !== 'GET' && method !== 'HEAD' && guardsModel(snapshot.guardrails, principal.userPath, model, provider);
}

/** For a restricted caller, a body of which no model can be read names none that it may use. */
async function searchFor({ path: { read, query }, knock }: PassthroughRequest): Promise<Searched> {
  const isRestricted = knock.principal.allowedModels !== undefined;
  const isNamed = modelOfPath(read) !== undefined;
  // By contract no other method asks a model.
  if (isRestricted && knock.method !== 'POST') throw refusal('passthrough_model_unknown');
  try {
    const found = await searchBody(knock, isNamed ? undefined : modelContract(read));
    return isRestricted ? found : withQuery(found, knock.method === 'POST' ? modelsOfQuery(query) : []);
  } catch (error) {
    const isUnreadable = isRestricted && error instanceof Refusal && unreadable.has(error.code ?? '');
    throw isUnreadable ? refusal('passthrough_model_unknown') : error;
  }
}

/** A model that the query names counts as that of the body. */
function withQuery(found: Searched, inQuery: readonly string[]): Searched {
  const named = new Set([...inQuery, ...(found.model === undefined ? [] : [found.model])]);
  if (named.size > 1)
    throw refusal('invalid_query', { param: 'model', fill: { name: 'model', problem: 'names another model, too' } });
  return { ...found, model: found.model ?? inQuery[0] };
}

/** A request, and where it goes. */
interface Passed {
  readonly path: ProviderPath;
  readonly upstream: Upstream;
  readonly found: Searched;
  readonly knock: Knock;
}

function aimWith({ path, upstream, found, knock }: Passed, parts: DoorParts): Aim {
  const { exchange, snapshot, body } = knock;
  const { opaque, headers: configured, name, secrets } = upstream;
  const kept = [snapshot.userPathHeader, snapshot.gatewayKeyHeader];
  const operation = operationOf(path.read);
  const speech = relayedOf(operation ?? (upstream.type === 'anthropic' ? 'messages' : 'chat'));
  const speaker: Speaker = { name, secrets, readError: speech.readError };
  // It is what the client says, and only told of.
  const clean = (text: string): string => withoutSecrets(text, [...knownSecrets({ exchange }), ...secrets]);
  const model = clean(plainModel(upstream.type, modelOfPath(path.read) ?? found.model ?? ''));
  const asked = modelAsked(path, upstream, found);
  if (asksGuardedModel(knock, asked, name)) throw refusal('guardrails_prevent_passthrough');
  if (knock.short !== undefined) knock.capture?.takeGuarded(knock.short);
  const isUnread = found.text === undefined && model === '' && knock.method === 'POST';
  const spotter = isUnread && takesModelFromBody(path.read) ? new ModelSpotter() : undefined;
  body.passed = spotter?.take;
  const price = knock.method === 'POST' ? findTarget(upstream, model, snapshot)?.price : undefined;
  if (knock.method === 'POST' && !isFree(operation)) requirePrice({ price }, model, knock);
  const target: OpaqueTarget = {
    upstream,
    model,
    isPassed: true,
    price,
    remembered: knock.method === 'POST' ? findTarget(upstream, asked, snapshot) : undefined,
    path: pathBelow(opaque, path),
    headers: forwardedHeaders(exchange.request.rawHeaders, { configured, usual: opaque.headers, kept }),
    keyStyle: opaque.keyStyle,
    speaker,
    body: () => found.body(knock.principal.allowedModels === undefined || upstream.allowsRoutingMembers),
  };
  const tap = (answer: UpstreamAnswer): Tapped => {
    const isWatched = operation !== undefined && answer.stream;
    const masked = new SecretsTap(secrets, isWatched);
    const later = backgroundTaps({ endpoint: path.read, target, knock, answer }, parts);
    if (operation === undefined) {
      const isRead = knock.readsUsage && knock.method === 'POST';
      const passed = isRead ? passedUsage(path.read, found.text, answer) : undefined;
      return { taps: [...(passed?.taps ?? []), masked, ...later], usage: passed?.usage };
    }
    const tapped = { answer, injectedUsage: false, relayed: speech, target };
    const usage = new UsageTap({ operation, call: { body: found.text ?? nothing } }, tapped, knock);
    return { taps: [usage, masked, ...later], usage };
  };
  const call = model === '' ? undefined : { model, stream: found.stream };
  const namedLate = (): NamedLate | undefined => {
    if (spotter?.model === undefined) return undefined;
    const late = plainModel(upstream.type, spotter.model);
    return { model: clean(late), price: findTarget(upstream, late, snapshot)?.price };
  };
  return { targets: [target], call, tap, operation, namedLate };
}

/** The model that does the work; undefined: none, or it is not known. A model in a body counts only where the provider looks for it. */
function modelAsked({ read }: ProviderPath, { type }: Pick<Upstream, 'type'>, found: Said): string | undefined {
  const named = modelOfPath(read) ?? (modelContract(read) === undefined ? undefined : found.model);
  return named === undefined ? undefined : plainModel(type, named);
}

/** The provider with this name, else those of this type; of several, those that are not taken out. */
function upstreamsOf(provider: string, { upstreams }: Snapshot, targets: Pick<TargetStates, 'drainOf'>): Upstream[] {
  const named = upstreams.find(({ name }) => name === provider);
  if (named !== undefined) return [named];
  const ofType = upstreams.filter(({ type }) => type === provider);
  const open = ofType.filter((upstream) => targets.drainOf({ upstream, model: '' }) === undefined);
  return open.length === 0 ? ofType : open;
}

/** The first that the caller may ask for what it asks. */
function granted({ path, upstreams, knock }: PassthroughRequest, found: Said): Upstream {
  const { allowedModels } = knock.principal;
  const { providers } = knock.snapshot;
  const first = upstreams[0] as Upstream;
  if (allowedModels === undefined) return first;
  const usable = upstreams.filter((upstream) => {
    const model = modelAsked(path, upstream, found);
    return model !== undefined && allowsTarget(allowedModels, upstream.name, model, providers);
  });
  const model = modelAsked(path, first, found);
  if (model === undefined) throw refusal('passthrough_model_unknown');
  if (usable.length === 0) throw refusal('model_access_denied', { param: 'model', fill: { model } });
  const { routingMember: member } = found;
  const free = member === undefined ? usable[0] : usable.find(({ allowsRoutingMembers }) => allowsRoutingMembers);
  if (free !== undefined) return free;
  throw refusal('routing_member_not_allowed', { param: member ?? '', fill: { member: member ?? '' } });
}
