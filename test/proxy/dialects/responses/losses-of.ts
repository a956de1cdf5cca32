// Writes a request for a provider of the Responses format and notes what is lost, as an operator sees it who lets everything drop.
import type { ConversationRequest } from '../../../../proxy/dialects/conversation/conversation.ts';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import type { Quirks } from '../../../../proxy/dialects/quirks.ts';
import { responsesTranslation } from '../../../../proxy/dialects/responses/translate.ts';

export interface Written {
  readonly body: JsonObject;
  readonly hints: readonly string[];
  readonly meanings: readonly string[];
}

export function lossesOf(request: ConversationRequest, model: string, quirks: Quirks): Written {
  const hints: string[] = [];
  const meanings: string[] = [];
  const losses = {
    hint: (field: string) => void hints.push(field),
    meaning: (field: string) => void meanings.push(field),
  };
  return { body: responsesTranslation.writeRequest(request, { model, quirks }, losses), hints, meanings };
}
