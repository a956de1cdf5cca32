// The request to one target: path, headers and body, in the format of its provider.
import { addForwarded } from '../call/forwarded-headers.ts';
import { nativeBody } from '../dialects/native-body.ts';
import type { ModelRequest } from '../http/exchange.ts';
import { requestHeaders } from '../providers/key-headers.ts';
import type { TargetSpeech } from '../providers/target-speeches.ts';
import type { Target } from '../snapshot/snapshot.ts';
import { callIdEdits } from '../translation/native-call-ids.ts';
import { foreignThoughtEdits } from '../translation/native-thoughts.ts';
import type { Translated } from '../translation/translated.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import type { RoutedCall } from './attempts.ts';

export interface Prepared {
  readonly speech: TargetSpeech;
  readonly path: string;
  readonly body: Buffer;
  /** The stream's usage event exists only because the gateway asked for it. */
  readonly injectedUsage: boolean;
  /** Undefined: bytes are relayed. */
  readonly translated: Translated | undefined;
}

/** `countsTokens`: streams shall report their usage. */
export function prepare(target: Target, { operation, call, translated }: RoutedCall, countsTokens: boolean): Prepared {
  const speech = target.speeches[operation];
  if (speech === undefined) throw new Error(`a target was to be asked for ${operation}, which it has not`);
  const path = call.stream ? speech.streamPath : speech.path;
  const told = translated?.get(target);
  if (told !== undefined) return { speech, path, body: told.body, injectedUsage: false, translated: told };
  const asksUsage = countsTokens && speech.takesStreamOptions;
  const edits = [...callIdEdits(call, speech, target.model), ...foreignThoughtEdits(call, speech)];
  const { body, injectedUsage } = nativeBody(call, target.modelJson, asksUsage, edits);
  return { speech, path, body, injectedUsage, translated: undefined };
}

/** The headers of a call, names and values in turn. */
export function headersOf({ upstream }: Target, speech: TargetSpeech, key: ApiKey, exchange: ModelRequest): string[] {
  const { keyStyle, headers: given, versions } = speech;
  const isUsual = keyStyle === undefined || key.style !== undefined;
  const ofKey = isUsual ? key.headers : requestHeaders(keyStyle, key.secret, upstream.headers);
  const headers = [...ofKey, 'x-request-id', exchange.id];
  const { rawHeaders } = exchange.request;
  // With the credential of a client they are there already.
  if (versions.length > 0 && upstream.clientAuth !== 'given') addForwarded(headers, rawHeaders, versions);
  addUnlessThere(headers, given);
  if (upstream.forwarded !== undefined) addForwarded(headers, rawHeaders, upstream.forwarded);
  return headers;
}

function addUnlessThere(headers: string[], given: readonly string[]): void {
  for (let index = 0; index < given.length; index += 2) {
    const name = given[index] as string;
    let isThere = false;
    for (let at = 0; at < headers.length; at += 2) isThere ||= headers[at]?.toLowerCase() === name;
    if (!isThere) headers.push(name, given[index + 1] as string);
  }
}
