// Where a call goes that names a model, and whose other words are passed on as they are.

import type { Said } from '../../call/beginning.ts';
import { addForwarded } from '../../call/forwarded-headers.ts';
import { CallContext } from '../../call/thread.ts';
import { readError } from '../../dialects/chat/read/read-error.ts';
import { refusal } from '../../errors.ts';
import { type MediaOperation, mediaPaths } from '../../providers/row.ts';
import { SecretsTap } from '../../providers/secrets-tap.ts';
import type { Balance } from '../../routing/balance/balance.ts';
import type { Route, Target } from '../../snapshot/snapshot.ts';
import { pricedPart } from '../../stages/priced.ts';
import { resolve } from '../../stages/resolve.ts';
import { partOf } from '../../stages/route-part.ts';
import type { OpaqueBody } from '../../upstream/send-opaque.ts';
import type { UpstreamAnswer } from '../../upstream/upstream-answer.ts';
import type { Aim, Knock, ModelsOfDoor, OpaqueDoor, OpaqueTarget, Tapped } from '../door.ts';
import { doorFacts } from '../door-facts.ts';
import { mediaUsage } from '../usage/media-usage.ts';

/** The request of a model. */
export interface MediaCall {
  readonly operation: MediaOperation;
  readonly model: string;
  readonly stream: boolean;
  /** Where its model leads. */
  readonly route: Route;
  /** The text that may name its conversation. */
  readonly said: Said;
  /** The text that it asks to be spoken; absent: none. */
  readonly characters?: number | undefined;
  /** The body for a target, with the model's own id in it. `isOnly`: no other target can be asked. */
  readonly bodyFor: (target: Target, isOnly: boolean) => OpaqueBody;
  /** Whether that can be sent once more; absent: it can. */
  readonly canSend?: () => boolean;
}

/** Where clients ask. */
export function pathOfMedia(operation: MediaOperation): string {
  return `/v1${mediaPaths[operation]}`;
}

/** Which models can be asked. */
export function modelsOfMedia(operation: MediaOperation): ModelsOfDoor {
  const canAsk = ({ upstream, model }: Target): boolean => upstream.mediaOf(operation, model) !== undefined;
  return { canAsk, choice: 'strategy', refusedAs: 'unsupported_operation' };
}

/** All doors of media have this in common. */
export function mediaDoor(operation: MediaOperation): Omit<OpaqueDoor, 'bodySetting' | 'shortBytes' | 'aim'> {
  return {
    path: pathOfMedia(operation),
    methods: ['POST'],
    surface: 'openai',
    counts: 'everything',
    models: modelsOfMedia(operation),
    relaysHeaders: false,
    isOpen: () => true,
  };
}

/** The model and the place that a call names. `routingMember`: the first member or field that may make a provider go elsewhere. */
type MediaName = Pick<MediaCall, 'model' | 'stream'> & { readonly routingMember: string | undefined };

/** Where the model of a call leads. `said`: its JSON; absent: it has none. Throws what `resolve` does. */
export function routeOfMedia(
  operation: MediaOperation,
  { model, stream, routingMember }: MediaName,
  knock: Knock,
  said?: Said,
): Route {
  const { snapshot, principal } = knock;
  knock.noteAsked({ model, stream });
  const facts = doorFacts(knock, pathOfMedia(operation), { said, stream });
  return resolve({ model, routingMember }, snapshot, principal.allowedModels, facts);
}

/**
 * The targets of the model that can be asked, in the order of balancing: those that fail stand last. Throws 400 `unsupported_operation` when
 * none of them can.
 */
export function aimAtModel(
  asked: MediaCall,
  knock: Knock,
  { balance, nowMs }: { readonly balance: Balance; readonly nowMs: () => number },
): Aim {
  const { operation, model, stream, route, said, canSend } = asked;
  const { exchange } = knock;
  const able = partOf(route, modelsOfMedia(operation).canAsk);
  if (able === undefined) {
    const fill = { what: 'model', name: model, path: pathOfMedia(operation) };
    throw refusal('unsupported_operation', { param: 'model', fill });
  }
  const priced = pricedPart(able, model, knock);
  const context = new CallContext(Math.floor(nowMs()), exchange.request.rawHeaders, said);
  const targets = balance(priced, context).map((target) =>
    opaqueTarget(target, asked, priced.targets.length === 1, knock),
  );
  return {
    targets,
    route: priced,
    ...(canSend && { canSend }),
    call: { model, stream },
    tap: (answer, { upstream }) => tapped(answer, asked, upstream.secrets, knock),
  };
}

function opaqueTarget(
  target: Target,
  { operation, bodyFor }: Pick<MediaCall, 'operation' | 'bodyFor'>,
  isOnly: boolean,
  { exchange }: Knock,
): OpaqueTarget {
  const { upstream, model } = target;
  const place = upstream.mediaOf(operation, model);
  if (place === undefined) throw new Error(`a target was to be asked for ${operation}, which it has not`);
  const { rawHeaders } = exchange.request;
  const headers = ['content-type', exchange.head.contentType ?? '', ...place.headers];
  if (upstream.forwarded !== undefined) addForwarded(headers, rawHeaders, upstream.forwarded);
  return {
    upstream,
    model,
    remembered: target,
    path: place.path,
    headers,
    keyStyle: place.keyStyle,
    speaker: { name: upstream.name, secrets: upstream.secrets, readError },
    body: () => bodyFor(target, isOnly),
  };
}

function tapped(
  answer: UpstreamAnswer,
  { operation, characters }: MediaCall,
  secrets: readonly string[],
  { readsUsage }: Knock,
): Tapped {
  const clean = new SecretsTap(secrets, false);
  if (!readsUsage) return { taps: [clean], usage: undefined };
  const usage = mediaUsage(operation, characters, answer);
  return { taps: [...usage.taps, clean], usage };
}
