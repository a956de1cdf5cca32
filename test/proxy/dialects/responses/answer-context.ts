// What writing an answer needs, for tests: the client's body, and ids that count.
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import { responsesTranslation } from '../../../../proxy/dialects/responses/translate.ts';
import type { AnswerContext } from '../../../../proxy/dialects/translation.ts';

export function answerContext(body: JsonObject): AnswerContext {
  let count = 0;
  const newId = (): string => {
    count += 1;
    return String(count).padStart(24, '0');
  };
  const said = responsesTranslation.readRequest(body);
  const request = responsesTranslation.forOthers?.(said) ?? said;
  return { model: 'asked', nowSeconds: 1_700_000_000, newId, request, body };
}
