// Writes the turns of a conversation as Gemini's `contents`: turns of one role become one, and each part one entry.
import type { ConversationRequest } from '../conversation/conversation.ts';
import type { Part, ReasoningPart, ToolCallPart, ToolResultPart } from '../conversation/parts.ts';
import { fieldName } from '../field-names.ts';
import { isThirdGeneration, noProof } from '../gemini-models.ts';
import { isObject, type JsonObject, type JsonValue, parseObject } from '../json/json.ts';
import { inputObject } from '../tools/free-text-tools.ts';
import type { Losses, WriteTarget } from '../translation.ts';
import { writeMedia } from './write-media.ts';

/** The turns of the user and the model; instructions stand elsewhere. */
export function writeContents(
  request: ConversationRequest,
  target: WriteTarget,
  losses: Losses,
): readonly JsonObject[] {
  const writer = new PartWriter(request, target, losses);
  const contents = joinedTurns(request).flatMap(({ role, parts: given }) => {
    const parts = writer.write(given);
    return parts.length === 0 ? [] : [{ role: role === 'user' ? 'user' : 'model', parts }];
  });
  if (!isThirdGeneration(target.model)) return contents;
  return contents.map(({ role, parts }) => ({ role, parts: role === 'model' ? withProof(parts) : parts }));
}

/** One turn for each change of the speaker. */
function joinedTurns({ turns }: ConversationRequest): readonly { readonly role: string; readonly parts: Part[] }[] {
  const joined: { readonly role: string; readonly parts: Part[] }[] = [];
  for (const { role, parts } of turns) {
    const last = joined.at(-1);
    if (last?.role === role) for (const part of parts) last.parts.push(part);
    else joined.push({ role, parts: [...parts] });
  }
  return joined;
}

/** Of the calls of one turn the first one must have a proof. */
function withProof(parts: readonly JsonObject[]): readonly JsonObject[] {
  const first = parts.findIndex(isCall);
  if (first === -1 || parts.some((part) => isCall(part) && part['thoughtSignature'] !== undefined)) return parts;
  return parts.map((part, index) => (index === first ? { ...part, thoughtSignature: noProof.value } : part));
}

function isCall(part: JsonObject): boolean {
  return part['functionCall'] !== undefined;
}

class PartWriter {
  readonly #request: ConversationRequest;
  readonly #target: WriteTarget;
  readonly #losses: Losses;
  /** Names of the functions that were called, by the id of the call: results need them. `place`: in the order of the calls. */
  readonly #called = new Map<string, { readonly name: string; readonly place: number }>();
  #calls = 0;
  #parts: JsonObject[] = [];
  /** Proof of thoughts that has not found its part. */
  #proof: string | undefined;

  constructor(request: ConversationRequest, target: WriteTarget, losses: Losses) {
    this.#request = request;
    this.#target = target;
    this.#losses = losses;
  }

  write(parts: readonly Part[]): readonly JsonObject[] {
    this.#parts = [];
    for (const part of this.#inOrder(parts)) {
      if (part.kind !== 'foreign' && part.cacheMark !== undefined) this.#hint('cacheMark');
      if (part.kind !== 'tool_call' && this.#parts.length > 0) this.#placeProof();
      this.#write(part);
    }
    this.#placeProof();
    return this.#parts;
  }

  #write(part: Part): void {
    switch (part.kind) {
      case 'text':
        if (part.citations !== undefined) this.#hint('citations');
        this.#text(part.text);
        break;
      case 'refusal':
        this.#text(part.text);
        break;
      case 'image':
      case 'file':
      case 'audio':
        this.#parts.push(...this.#media(part));
        break;
      case 'tool_call':
        this.#call(part);
        break;
      case 'tool_result':
        this.#result(part);
        break;
      case 'reasoning':
        this.#reasoning(part);
        break;
      case 'foreign':
        if (part.dialect === 'gemini') this.#parts.push(part.value);
        else this.#meaning(`it has no parts of the type ${part.name}`, part.place);
    }
  }

  /** An empty text is refused there. */
  #text(text: string): void {
    if (text !== '') this.#parts.push({ text });
  }

  #media(part: Extract<Part, { kind: 'image' | 'file' | 'audio' }>): readonly JsonObject[] {
    if (part.kind === 'image' && part.detail !== undefined && part.detail !== 'auto') this.#hint('detail');
    if (part.kind === 'file' && part.name !== undefined) this.#hint('fileName');
    const written = writeMedia(part);
    if (written !== undefined) return [written];
    if (part.kind === 'audio' && part.transcript !== undefined) return [{ text: part.transcript }];
    this.#meaning('it cannot read a file that another provider keeps', part.place);
    return [];
  }

  #call(part: ToolCallPart): void {
    const { id, name, signature } = part;
    // An id that is used again is the later call's.
    this.#called.set(id, { name, place: this.#calls });
    this.#calls += 1;
    const own = signature?.family === 'google' ? signature.value : undefined;
    const proof = own ?? this.#proof;
    this.#proof = undefined;
    const functionCall = { ...this.#idOf(id), name, args: inputObject(part) };
    this.#parts.push(proof === undefined ? { functionCall } : { functionCall, thoughtSignature: proof });
  }

  /** Older models take images of a result beside it. */
  #result(part: ToolResultPart): void {
    const media = part.content.flatMap((inner) => {
      if (inner.kind === 'foreign') this.#meaning(`it has no parts of the type ${inner.name}`, inner.place);
      return inner.kind === 'image' || inner.kind === 'file' ? this.#media(inner) : [];
    });
    const isWithin = isThirdGeneration(this.#target.model) && media.every((entry) => entry['inlineData'] !== undefined);
    const name = part.name ?? this.#called.get(part.callId)?.name ?? part.callId;
    const { id } = this.#idOf(part.callId);
    this.#parts.push(writeToolResult(part, { name, id, media: isWithin ? media : [] }));
    if (!isWithin) this.#parts.push(...media);
  }

  /** Vertex AI refuses ids; there results belong to calls by name and order. */
  #idOf(id: string): { readonly id?: string } {
    return this.#target.quirks.without?.includes('id') === true ? {} : { id };
  }

  /** Results first, in the order of their calls. */
  #inOrder(parts: readonly Part[]): readonly Part[] {
    const results = parts.filter((part) => part.kind === 'tool_result');
    if (results.length === 0) return parts;
    const placeOf = ({ callId }: ToolResultPart): number => this.#called.get(callId)?.place ?? this.#calls;
    const sorted = results.toSorted((one, other) => placeOf(one) - placeOf(other));
    return [...sorted, ...parts.filter((part) => part.kind !== 'tool_result')];
  }

  #reasoning({ text, summary, signature, encrypted }: ReasoningPart): void {
    const proof = signature?.family === 'google' ? signature.value : undefined;
    const thoughts = text || summary.join('\n\n');
    if (proof === undefined) {
      if (thoughts !== '' || encrypted !== undefined || signature !== undefined) this.#hint('reasoning');
    } else if (thoughts === '') this.#proof = proof;
    else this.#parts.push({ text: thoughts, thought: true, thoughtSignature: proof });
  }

  /** A proof without words belongs to the call behind it, else to what was said before it. */
  #placeProof(): void {
    const proof = this.#proof;
    if (proof === undefined) return;
    this.#proof = undefined;
    const last = this.#parts.findLastIndex((part) => part['thought'] !== true && !isCall(part));
    const signed = this.#parts[last];
    if (signed === undefined || signed['thoughtSignature'] !== undefined) {
      this.#parts.push({ text: '', thoughtSignature: proof });
    } else this.#parts[last] = { ...signed, thoughtSignature: proof };
  }

  #hint(member: Parameters<typeof fieldName>[0]): void {
    this.#losses.hint(fieldName(member, this.#request.dialect));
  }

  #meaning(because: string, place: string | undefined): void {
    this.#losses.meaning(fieldName('turns', this.#request.dialect), because, place);
  }
}

/** `name`: of the function; `id`: of the call, where the server knows ids. `media`: images and files of the result. */
function writeToolResult(
  part: ToolResultPart,
  {
    name,
    id,
    media,
  }: { readonly name: string; readonly id: string | undefined; readonly media: readonly JsonObject[] },
): JsonObject {
  const functionResponse = {
    ...(id === undefined ? {} : { id }),
    name,
    response: responseOf(part),
    ...(media.length === 0 ? {} : { parts: media }),
  };
  return { functionResponse };
}

/** An object as it is; any other text under the names that Google's models know, and so one with a reference. */
function responseOf({ content, isError }: ToolResultPart): JsonObject {
  const text = content.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n');
  const parsed = parseObject(text);
  const object = mayRefer.test(text) && refers(parsed) ? undefined : parsed;
  if (isError) return { error: object ?? text };
  return object ?? { output: text };
}

/** Gemini takes a member of this name for the name of a file beside the result, and refuses one that is not there. */
const reference = '$ref';
const mayRefer = /\$ref|\\u/;

function refers(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.some(refers);
  if (!isObject(value)) return false;
  return Object.hasOwn(value, reference) || Object.values(value).some(refers);
}
