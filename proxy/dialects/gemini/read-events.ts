// Reads the stream of a Gemini model. Each chunk holds whole parts; text and thoughts go on in the next chunk, all else does not.
import type { ConversationUsage, FinishReason } from '../conversation/conversation.ts';
import type { OpenedPart, PartDelta, StreamEvent } from '../conversation/stream-event.ts';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  listOf,
  numberOf,
  objectOf,
  parseObject,
  textOf,
  writeJson,
} from '../json/json.ts';
import { type EventReader, InvalidAnswer, type RawEvent } from '../translation.ts';
import { readCitations } from './read-citations.ts';
import { wordsOf } from './read-error.ts';
import { readWholePart } from './read-part.ts';
import { readUsage } from './read-usage.ts';

/** The text or the thoughts that the next chunk may go on with. */
interface OpenPart {
  readonly kind: 'text' | 'reasoning';
  /** Citations point into the text, and come at its end. */
  readonly pieces: string[];
  /** Of a text: proof of the thoughts before it, told behind it. */
  signature: string | undefined;
}

/** The stream ends without a mark, so `finished` is told at its end. */
export class GeminiEventReader implements EventReader {
  #events: StreamEvent[] = [];
  #isStarted = false;
  #isFailed = false;
  #id = '';
  #parts = 0;
  #hasCalls = false;
  #open: OpenPart | undefined;
  /** Grounding and quotes so far. */
  #sources: JsonObject = {};
  #finishReason: string | undefined;
  #blocked: string | undefined;
  #usage: ConversationUsage | undefined;

  read({ data }: RawEvent): readonly StreamEvent[] {
    // Servers between may end the stream as OpenAI does.
    if (data === '' || data === '[DONE]') return [];
    const chunk = parseObject(data);
    if (chunk === undefined) throw new InvalidAnswer('an event of its stream is not a JSON object');
    return this.readChunk(chunk);
  }

  /** The events of one chunk; a whole JSON answer is one, too. */
  readChunk(chunk: JsonObject): readonly StreamEvent[] {
    if (this.#isFailed) return [];
    this.#start(chunk);
    const error = objectOf(chunk['error']);
    if (error === undefined) this.#readAnswer(chunk);
    else this.#fail(error);
    return this.#take();
  }

  end(): readonly StreamEvent[] {
    if (this.#isFailed) return [];
    this.#close();
    const reason = this.#finishReason;
    if (reason !== undefined) {
      this.#events.push({ kind: 'finished', finish: { reason: readFinish(reason, this.#hasCalls) } });
    } else if (this.#blocked !== undefined) {
      this.#whole({ kind: 'whole', part: { kind: 'refusal', text: this.#blocked } });
      this.#events.push({ kind: 'finished', finish: { reason: 'filtered' } });
    }
    return this.#take();
  }

  #start(chunk: JsonObject): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#id = textOf(chunk['responseId']) ?? '';
    this.#events.push({ kind: 'started', id: this.#id, model: textOf(chunk['modelVersion']) ?? '' });
  }

  #fail(error: JsonObject): void {
    this.#close();
    this.#isFailed = true;
    const { message, code, type } = wordsOf(error);
    this.#events.push({ kind: 'failed', failure: { message, code, type } });
  }

  #readAnswer(chunk: JsonObject): void {
    const feedback = objectOf(chunk['promptFeedback']);
    const block = textOf(feedback?.['blockReason']);
    if (block !== undefined) {
      this.#blocked = textOf(feedback?.['blockReasonMessage']) ?? `The provider blocked the prompt: ${block}.`;
    }
    // Clients of Anthropic look for the tokens of the prompt before anything is said.
    const usage = objectOf(chunk['usageMetadata']);
    if (usage !== undefined) this.#tellUsage(readUsage(usage));
    const candidate = firstCandidate(chunk);
    if (candidate !== undefined) this.#readCandidate(candidate);
  }

  /** Chunks repeat counts that have not changed. */
  #tellUsage(usage: ConversationUsage): void {
    const before = this.#usage;
    const isSame = before !== undefined && usageKeys.every((key) => before[key] === usage[key]);
    if (isSame) return;
    this.#usage = usage;
    this.#events.push({ kind: 'usage', usage });
  }

  #readCandidate(candidate: JsonObject): void {
    const { groundingMetadata, citationMetadata } = candidate;
    if (groundingMetadata !== undefined) this.#sources = { ...this.#sources, groundingMetadata };
    if (citationMetadata !== undefined) this.#sources = { ...this.#sources, citationMetadata };
    this.#finishReason = textOf(candidate['finishReason']) ?? this.#finishReason;
    const parts = (listOf(objectOf(candidate['content'])?.['parts']) ?? []).filter(isObject);
    const result = objectOf(candidate['logprobsResult']);
    const logprobs = result === undefined ? [] : readLogprobs(result);
    const last = logprobs.length === 0 ? -1 : parts.findLastIndex(isSpoken);
    for (const [index, part] of parts.entries()) this.#readPart(part, index === last ? logprobs : []);
    if (logprobs.length > 0 && last === -1 && this.#open?.kind === 'text')
      this.#delta({ kind: 'text', text: '', logprobs });
  }

  #readPart(part: JsonObject, logprobs: readonly JsonValue[]): void {
    const text = textOf(part['text']);
    const call = objectOf(part['functionCall']);
    const signature = textOf(part['thoughtSignature']);
    if (text !== undefined && part['thought'] === true) this.#readThoughts(text, signature);
    else if (text !== undefined) this.#readText(text, signature, logprobs);
    else if (call !== undefined) this.#readCall(call, signature);
    else {
      this.#close();
      this.#whole({ kind: 'whole', part: readWholePart(part) });
      this.#sign(signature);
    }
  }

  #readThoughts(text: string, signature: string | undefined): void {
    if (text === '' && signature === undefined) return;
    this.#continue('reasoning');
    if (text !== '') this.#delta({ kind: 'text', text });
    if (signature !== undefined) this.#delta({ kind: 'signature', signature: { family: 'google', value: signature } });
  }

  #readText(text: string, signature: string | undefined, logprobs: readonly JsonValue[]): void {
    if (text !== '' || logprobs.length > 0) {
      this.#continue('text').pieces.push(text);
      this.#delta({ kind: 'text', text, ...(logprobs.length === 0 ? {} : { logprobs }) });
    }
    if (signature === undefined) return;
    if (this.#open?.kind === 'text') this.#open.signature = signature;
    else {
      this.#close();
      this.#sign(signature);
    }
  }

  #readCall(call: JsonObject, signature: string | undefined): void {
    this.#close();
    const name = textOf(call['name']) ?? '';
    this.#hasCalls = true;
    this.#begin({ kind: 'tool_call', id: textOf(call['id']) ?? '', name, isFreeText: false });
    this.#delta({ kind: 'text', text: writeJson(objectOf(call['args']) ?? {}) });
    if (signature !== undefined) this.#delta({ kind: 'signature', signature: { family: 'google', value: signature } });
    this.#finishPart();
  }

  /** Proof of thoughts on something that is no thought stands behind it as thoughts without words. */
  #sign(signature: string | undefined): void {
    if (signature === undefined) return;
    const proof = { family: 'google', value: signature } as const;
    this.#whole({ kind: 'whole', part: { kind: 'reasoning', text: '', summary: [], signature: proof } });
  }

  #continue(kind: OpenPart['kind']): OpenPart {
    if (this.#open?.kind === kind) return this.#open;
    this.#close();
    this.#begin({ kind });
    this.#open = { kind, pieces: [], signature: undefined };
    return this.#open;
  }

  #close(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    if (open.kind === 'text') {
      for (const citation of readCitations(this.#sources, open.pieces.join('')))
        this.#delta({ kind: 'citation', citation });
      this.#sources = {};
    }
    this.#finishPart();
    this.#sign(open.signature);
  }

  #whole(part: OpenedPart): void {
    this.#begin(part);
    this.#finishPart();
  }

  #begin(part: OpenedPart): void {
    this.#events.push({ kind: 'opened', index: this.#parts, part });
  }

  #delta(delta: PartDelta): void {
    this.#events.push({ kind: 'delta', index: this.#parts, delta });
  }

  #finishPart(): void {
    this.#events.push({ kind: 'closed', index: this.#parts });
    this.#parts += 1;
  }

  #take(): readonly StreamEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}

const usageKeys = ['inputTokens', 'outputTokens', 'totalTokens', 'cachedTokens', 'reasoningTokens'] as const;

/** The one that the conversation has room for; others come only when several were asked for. */
function firstCandidate(chunk: JsonObject): JsonObject | undefined {
  const candidates = (listOf(chunk['candidates']) ?? []).filter(isObject);
  return candidates.find((candidate) => (numberOf(candidate['index']) ?? 0) === 0);
}

function isSpoken(part: JsonObject): boolean {
  return textOf(part['text']) !== undefined && part['thought'] !== true;
}

/** Reasons that are not named here mean that the model was done, or that nothing better is known (OTHER, RECITATION, MALFORMED_FUNCTION_CALL). */
const reasons: ReadonlyMap<string, FinishReason> = new Map([
  ['MAX_TOKENS', 'length'],
  ['SAFETY', 'filtered'],
  ['PROHIBITED_CONTENT', 'filtered'],
  ['BLOCKLIST', 'filtered'],
  ['SPII', 'filtered'],
  ['LANGUAGE', 'filtered'],
  ['MODEL_ARMOR', 'filtered'],
  ['IMAGE_SAFETY', 'filtered'],
  ['IMAGE_PROHIBITED_CONTENT', 'filtered'],
]);

/** `hasToolCall`: the answer calls a tool, for which Gemini has no reason of its own. */
function readFinish(reason: string, hasToolCall: boolean): FinishReason {
  return reasons.get(reason) ?? (hasToolCall ? 'tool_calls' : 'stop');
}

/** Reads a `logprobsResult`: one entry per chosen token, with its alternatives. */
function readLogprobs(result: JsonObject): readonly JsonValue[] {
  const alternatives = listOf(result['topCandidates']) ?? [];
  return (listOf(result['chosenCandidates']) ?? []).map((chosen, index) => {
    const others = listOf(objectOf(alternatives[index])?.['candidates']) ?? [];
    return { ...tokenOf(chosen), top_logprobs: others.map(tokenOf) };
  });
}

function tokenOf(candidate: JsonValue): JsonObject {
  const { token, logProbability } = objectOf(candidate) ?? {};
  const text = textOf(token) ?? '';
  return { token: text, logprob: logProbability ?? 0, bytes: [...Buffer.from(text)] };
}
