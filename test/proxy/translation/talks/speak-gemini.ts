// Answers of models as Gemini writes them, as a whole and as a stream.
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import { cut, json, model, type SaidAnswer, type Telling } from './said-answer.ts';

function answerOf(said: SaidAnswer, parts: readonly JsonObject[], isLast: boolean): JsonObject {
  const { usage } = said;
  const finish = isLast ? { finishReason: said.isCut ? 'MAX_TOKENS' : 'STOP' } : {};
  const counts = {
    promptTokenCount: usage.input + usage.cached,
    cachedContentTokenCount: usage.cached,
    candidatesTokenCount: usage.output,
  };
  const candidates = [{ index: 0, content: { role: 'model', parts }, ...finish }];
  return { responseId: said.id, modelVersion: model, candidates, ...(isLast ? { usageMetadata: counts } : {}) };
}

/** Its models decline in texts, and prove a thought at the call that follows. */
function partsOf({ said, toolOf }: Telling, pieces: (text: string) => readonly string[]): readonly JsonObject[] {
  return said.parts.flatMap((part): readonly JsonObject[] => {
    if (part.kind !== 'call') {
      const thought = part.kind === 'thought' ? { thought: true } : {};
      return pieces(part.text).map((text) => ({ text, ...thought }));
    }
    const { id, input, proof } = part;
    const functionCall = { ...(id === undefined ? {} : { id }), name: toolOf(part).name, args: input };
    return [{ functionCall, ...(proof === undefined ? {} : { thoughtSignature: proof }) }];
  });
}

export function wholeGemini(telling: Telling): JsonObject {
  return answerOf(
    telling.said,
    partsOf(telling, (text) => [text]),
    true,
  );
}

export function streamGemini(telling: Telling): Buffer {
  const parts = partsOf(telling, (text) => cut(text, telling.pace));
  const chunks = [...parts.map((part) => answerOf(telling.said, [part], false)), answerOf(telling.said, [], true)];
  return Buffer.from(chunks.map((chunk) => `data: ${json(chunk)}\r\n\r\n`).join(''));
}
