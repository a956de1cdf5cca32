// The client's body as a conversation, read once for all targets that need it.
import type { Call } from '../call/call.ts';
import type { ConversationRequest } from '../dialects/conversation/conversation.ts';
import { checkNestedValues } from '../dialects/conversation/nested-values.ts';
import type { JsonObject } from '../dialects/json/json.ts';
import { TooManyValues } from '../dialects/json/read-json.ts';
import { type ClientDialect, InvalidRequest } from '../dialects/translation.ts';
import { refusal } from '../errors.ts';
import { parsedBody } from '../http/parsed-body.ts';
import { type Slices, shortBytes } from '../pacing/slices.ts';
import { clientPlace } from './client-place.ts';

/** A client's words, in its own dialect and in none. */
export interface Spoken<Client = ClientDialect> {
  readonly client: Client;
  readonly body: JsonObject;
  readonly request: ConversationRequest;
  /** How long they were. */
  readonly bytes: number;
  /** The number of input items from earlier responses, which are not in the client's own body. */
  readonly itemsBefore?: number | undefined;
}

/**
 * `obeyed`: members that the gateway itself obeys, so no provider needs to be told. Throws 400 `invalid_parameter` that names the member
 * which breaks the rules of the dialect, and `body_too_many_keys`, also for what JSON in texts holds.
 */
export function* conversationOf<Client extends Pick<ClientDialect, 'readRequest' | 'forOthers'>>(
  { body, continues }: Pick<Call, 'body' | 'continues'>,
  client: Client,
  obeyed: readonly string[] = [],
): Slices<Spoken<Client>> {
  const parsed = yield* parsedBody(body);
  try {
    const said = client.readRequest(obeyed.length === 0 ? parsed : without(parsed, obeyed));
    const request = client.forOthers?.(said) ?? said;
    if (body.length > shortBytes) {
      yield;
      yield* checkNestedValues(request.turns.flatMap(({ parts }) => parts));
      yield;
    }
    const asked = continues === undefined ? parsed : { ...parsed, previous_response_id: continues.id };
    return { client, body: asked, request, bytes: body.length, itemsBefore: continues?.itemsBefore };
  } catch (error) {
    if (error instanceof TooManyValues) throw refusal('body_too_many_keys');
    if (!(error instanceof InvalidRequest)) throw error;
    const param = clientPlace(error.param, continues?.itemsBefore);
    throw refusal('invalid_parameter', { param, fill: { param, because: error.message } });
  }
}

function without(body: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !keys.includes(key)));
}
