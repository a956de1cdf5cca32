// The door /p/{provider}/{endpoint}: a request goes to a provider as it is, with the gateway's key in place of the client's.
import { withoutSecrets } from '../../schemas/keys/key-shapes.ts';
import { allowsTarget } from '../../schemas/keys/model-access.ts';
import { type Call, readCall } from '../call/call.ts';
import { Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { alwaysGuarded } from '../guardrails/applying.ts';
import { knownSecrets } from '../known-secrets.ts';
import { relayed } from '../providers/dialects.ts';
import type { Speaker } from '../providers/provider-error.ts';
import { SecretsTap } from '../providers/secrets-tap.ts';
import { findTarget } from '../snapshot/find-target.ts';
import type { Snapshot, Upstream } from '../snapshot/snapshot.ts';
import { UsageTap } from '../tokens/usage-tap.ts';
import type { OpaqueBody } from '../upstream/send-opaque.ts';
import type { UpstreamAnswer } from '../upstream/upstream-answer.ts';
import { backgroundTaps } from './background-taps.ts';
import type { Aim, Knock, NamedLate, OpaqueTarget, Tapped } from './door.ts';
import { modelOfPath, operationOf, takesModelFromBody } from './model-of-path.ts';
import { ModelSpotter } from './model-spotter.ts';
import { passedUsage } from './passed-usage.ts';
import { type ProviderPath, pathBelow, readProviderPath } from './provider-path.ts';
import { forwardedHeaders } from './request-headers.ts';

/** A request that is signed is read whole before: up to this many bytes. */
const mostSignedBytes = 16 * 1024 * 1024;
const nothing: Buffer = Buffer.alloc(0);
const webSocket = /^\s*websocket\b/i;

/**
 * Where a request behind `/p/` goes: to the provider with the name in its path, else to the first one of that type that the caller may use.
 * Throws 403 `guardrails_prevent_passthrough`, 400 `invalid_path`, `unknown_provider` and `upgrade_not_supported`, 403 `model_access_denied` for a caller restricted to models
 * whose model cannot be read or is none of them, 400 `routing_member_not_allowed`, and 413 for what is too long to be signed.
 */
export function aimPassthrough(knock: Knock, parts: Gateway): Aim | Promise<Aim> {
  const { exchange, principal, snapshot, short } = knock;
  // What is passed through cannot be read, so it cannot be guarded.
  if (alwaysGuarded(snapshot.guardrails, principal.userPath)) throw refusal('guardrails_prevent_passthrough');
  if (webSocket.test(exchange.request.headers.upgrade ?? '')) throw refusal('upgrade_not_supported');
  const path = readProviderPath(exchange.request.url ?? '');
  const upstreams = upstreamsOf(path.provider, snapshot);
  if (upstreams.length === 0) throw refusal('unknown_provider', { fill: { provider: path.provider } });
  const read = short === undefined ? undefined : callIn(short);
  const upstream = granted(upstreams, path, read, knock);
  const asked = { path, upstream, read, knock, parts };
  if (upstream.opaque.keyStyle !== 'aws' || short !== undefined) return aimAt(asked, short);
  return wholeBody(knock).then((whole) => aimAt(asked, whole));
}

/** What is known of a request, and where it goes. */
interface Passed {
  readonly path: ProviderPath;
  readonly upstream: Upstream;
  /** What the body says; undefined: it is no model call, or not there yet. */
  readonly read: Call | undefined;
  readonly knock: Knock;
  readonly parts: Gateway;
}

function aimAt({ path, upstream, read, knock, parts }: Passed, whole: Buffer | undefined): Aim {
  const { exchange, snapshot, body } = knock;
  const { opaque, headers: configured, name, secrets } = upstream;
  const { userPathHeader } = snapshot;
  const operation = operationOf(path.endpoint);
  const speech = relayed[operation ?? (upstream.type === 'anthropic' ? 'messages' : 'chat')];
  const speaker: Speaker = { name, secrets, readError: speech.readError };
  // It is what the client says, and only told of.
  const clean = (text: string): string => withoutSecrets(text, [...knownSecrets({ exchange }), ...secrets]);
  const model = clean(modelOfPath(path.endpoint) ?? read?.model ?? '');
  const isUnread = whole === undefined && model === '' && knock.method === 'POST';
  const spotter = isUnread && takesModelFromBody(path.endpoint) ? new ModelSpotter() : undefined;
  body.passed = spotter?.take;
  const target: OpaqueTarget = {
    upstream,
    model,
    isPassed: true,
    remembered: knock.method === 'POST' ? findTarget(upstream, modelAsked(path.endpoint, read), snapshot) : undefined,
    path: pathBelow(opaque, path),
    headers: forwardedHeaders(exchange.request.rawHeaders, { configured, usual: opaque.headers, userPathHeader }),
    keyStyle: opaque.keyStyle,
    speaker,
    body: (): OpaqueBody => whole ?? { stream: body, length: body.declaredLength, source: body },
  };
  const tap = (answer: UpstreamAnswer): Tapped => {
    const isWatched = operation !== undefined && answer.stream && answer.contentEncoding === undefined;
    const masked = new SecretsTap(secrets, isWatched);
    const later = backgroundTaps({ endpoint: path.endpoint, target, knock, answer }, parts);
    if (operation === undefined) {
      const isRead = knock.readsUsage && knock.method === 'POST';
      const passed = isRead ? passedUsage(path.endpoint, whole, answer) : undefined;
      return { taps: [...(passed?.taps ?? []), masked, ...later], usage: passed?.usage };
    }
    const tapped = { answer, injectedUsage: false, relayed: speech, target };
    const usage = new UsageTap({ operation, call: { body: whole ?? nothing } }, tapped, knock.readsUsage);
    return { taps: [usage, masked, ...later], usage };
  };
  const call = model === '' ? undefined : { model, stream: read?.stream ?? false };
  const namedLate = (): NamedLate | undefined => {
    if (spotter?.model === undefined) return undefined;
    return { model: clean(spotter.model), price: findTarget(upstream, spotter.model, snapshot)?.price };
  };
  return { targets: [target], call, tap, operation, namedLate };
}

/** The model that does the work; undefined: none, or it is not known. A model in a body counts only where the provider looks for it. */
function modelAsked(endpoint: string, read: Call | undefined): string | undefined {
  return modelOfPath(endpoint) ?? (takesModelFromBody(endpoint) ? read?.model : undefined);
}

/** The provider with this name, else those of this type. */
function upstreamsOf(provider: string, { upstreams }: Snapshot): Upstream[] {
  const named = upstreams.find(({ name }) => name === provider);
  return named === undefined ? upstreams.filter(({ type }) => type === provider) : [named];
}

/** The first that the caller may ask for what it asks. */
function granted(
  upstreams: readonly Upstream[],
  { endpoint }: ProviderPath,
  read: Call | undefined,
  { principal: { allowedModels }, snapshot: { providers } }: Knock,
): Upstream {
  const first = upstreams[0] as Upstream;
  if (allowedModels === undefined) return first;
  const model = modelAsked(endpoint, read);
  if (model === undefined) throw refusal('passthrough_model_unknown');
  const usable = upstreams.filter(({ name }) => allowsTarget(allowedModels, name, model, providers));
  if (usable.length === 0) throw refusal('model_access_denied', { param: 'model', fill: { model } });
  const { routingMember: member } = read ?? {};
  const free = member === undefined ? usable[0] : usable.find(({ allowsRoutingMembers }) => allowsRoutingMembers);
  if (free !== undefined) return free;
  throw refusal('routing_member_not_allowed', { param: member ?? '', fill: { member: member ?? '' } });
}

/** What a body says as a model call. Throws only where two readers could understand it differently. */
function callIn(body: Buffer): Call | undefined {
  try {
    return readCall(body);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'duplicate_key') throw error;
    return undefined;
  }
}

async function wholeBody({ body, held }: Knock): Promise<Buffer> {
  held.grow(Math.min(body.declaredLength ?? mostSignedBytes, mostSignedBytes));
  const whole = await body.gather(mostSignedBytes, undefined);
  if (whole === undefined) throw refusal('body_too_large', { fill: { limit: mostSignedBytes, setting: '' } });
  return whole;
}
