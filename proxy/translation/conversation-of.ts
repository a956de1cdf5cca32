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

/** Throws 400 `invalid_parameter` that names the member which breaks the rules of the dialect. */
export function conversationOf<Client extends Pick<ClientDialect, 'readRequest'>>(
  { body }: Pick<Call, 'body'>,
  client: Client,
): Spoken<Client> {
  const parsed = parseJson(body.toString('utf8'));
  if (!isObject(parsed)) throw refusal('invalid_json', { fill: { reason: 'it must be an object' } });
  try {
    return { client, body: parsed, request: client.readRequest(parsed) };
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error;
    throw refusal('invalid_parameter', { param: error.param, fill: { param: error.param, because: error.message } });
  }
}
