// The client's body as a conversation, read once for all targets that need it.
import type { Call } from '../call/call.ts';
import type { ConversationRequest } from '../dialects/conversation/conversation.ts';
import { isObject, type JsonObject, parseJson } from '../dialects/json.ts';
import { type ClientDialect, InvalidRequest } from '../dialects/translation.ts';
import { refusal } from '../errors.ts';

/** A client's words, in its own dialect and in none. */
export interface Spoken<Client = ClientDialect> {
  readonly client: Client;
  readonly body: JsonObject;
  readonly request: ConversationRequest;
}

/** `obeyed`: members that the gateway itself obeys, so no provider needs to be told. Throws 400 `invalid_parameter` that names the member which breaks the rules of the dialect. */
export function conversationOf<Client extends Pick<ClientDialect, 'readRequest'>>(
  { body, continues }: Pick<Call, 'body' | 'continues'>,
  client: Client,
  obeyed: readonly string[] = [],
): Spoken<Client> {
  const parsed = parseJson(body.toString('utf8'));
  if (!isObject(parsed)) throw refusal('invalid_json', { fill: { reason: 'it must be an object' } });
  try {
    const told = Object.entries(parsed).filter(([key]) => !obeyed.includes(key));
    const request = client.readRequest(obeyed.length === 0 ? parsed : Object.fromEntries(told));
    return { client, body: continues === undefined ? parsed : { ...parsed, previous_response_id: continues }, request };
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error;
    throw refusal('invalid_parameter', { param: error.param, fill: { param: error.param, because: error.message } });
  }
}
