// Reads what a delta, or the message of a whole answer, adds to the parts of an answer.
import type { AudioPart, Citation, ForeignPart, ImagePart, ReasoningPart } from '../../conversation/parts.ts';
import type { OpenedPart, StreamEvent } from '../../conversation/stream-event.ts';
import { type JsonObject, type JsonValue, listOf, objectOf, textOf } from '../../json/json.ts';
import { sourceOfUrl } from '../../sources.ts';
import { readAnnotations } from '../citations.ts';
import type { Shown } from '../finish.ts';
import { type BegunPart, PartOrder } from '../part-order.ts';
import { readThoughts, type Thought, textsOf } from '../thoughts.ts';
import { CallReader } from './read-calls.ts';

/** Takes deltas in their order. Its events are in the order of the conversation. */
export class DeltaReader implements Shown {
  hasRefusal = false;
  readonly #order = new PartOrder();
  #calls: CallReader | undefined;
  /** Citations that came before their text. */
  #citations: readonly Citation[] = [];
  #sources: readonly Citation[] = [];
  #audio: SpokenParts | undefined;
  #summaryIndex = 0;
  #lastSummary: number | undefined;

  get hasCalls(): boolean {
    return this.#calls !== undefined;
  }

  /** `logprobs`: of the choice. */
  read(delta: JsonObject, logprobs: JsonValue | undefined): readonly StreamEvent[] {
    for (const thought of readThoughts(delta)) this.#think(thought);
    const entries = listOf(objectOf(logprobs)?.['content']);
    const { content, refusal, tool_calls: calls, function_call: legacy } = delta;
    if (typeof content === 'string') this.#say(content, entries);
    else for (const entry of listOf(content) ?? []) this.#readPart(objectOf(entry));
    if (typeof refusal === 'string' && refusal !== '') {
      this.hasRefusal = true;
      this.#order.add(this.#current('refusal'), { kind: 'text', text: refusal });
    }
    for (const entry of listOf(delta['images']) ?? []) this.#readPart(objectOf(entry));
    if (delta['annotations']) this.#cite(readAnnotations(delta['annotations']));
    if (delta['audio']) this.#hear(objectOf(delta['audio']));
    for (const entry of listOf(calls) ?? []) {
      const call = objectOf(entry);
      if (call !== undefined) this.#call(call);
    }
    const called = objectOf(legacy);
    if (called !== undefined) this.#call({ index: 0, function: called });
    return this.#order.take();
  }

  /** Sources of the whole answer; the last list counts. */
  keepSources(sources: readonly Citation[]): void {
    if (sources.length > 0) this.#sources = sources;
  }

  /** The answer is complete: closes what is open. */
  end(): readonly StreamEvent[] {
    this.#cite(this.#sources);
    this.#sources = [];
    this.#order.end();
    if (this.#audio !== undefined) this.#order.begin({ kind: 'whole', part: soundOf(this.#audio) });
    this.#audio = undefined;
    this.#order.end();
    return this.#order.take();
  }

  #call(call: JsonObject): void {
    this.#calls ??= new CallReader(this.#order);
    this.#calls.read(call);
  }

  #say(text: string, logprobs: readonly JsonValue[] | undefined): void {
    const told = logprobs === undefined || logprobs.length === 0 ? undefined : logprobs;
    if (text === '' && told === undefined) return;
    this.#order.add(
      this.#current('text'),
      told === undefined ? { kind: 'text', text } : { kind: 'text', text, logprobs: told },
    );
  }

  #cite(citations: readonly Citation[]): void {
    const part = this.#order.last;
    if (part?.opened?.kind !== 'text') this.#citations = [...this.#citations, ...citations];
    else for (const citation of citations) this.#order.add(part, { kind: 'citation', citation });
  }

  /** The part that deltas of this kind go to. */
  #current(kind: 'text' | 'refusal' | 'reasoning'): BegunPart {
    const last = this.#order.last;
    if (last?.opened?.kind === kind && !last.isSealed) return last;
    const opened: OpenedPart = { kind };
    const part = this.#order.begin(opened);
    if (kind === 'reasoning') {
      this.#summaryIndex = 0;
      this.#lastSummary = undefined;
    }
    if (kind === 'text' && this.#citations.length > 0) {
      for (const citation of this.#citations) this.#order.add(part, { kind: 'citation', citation });
      this.#citations = [];
    }
    return part;
  }

  #think(thought: Thought): void {
    if (thought.kind === 'whole') this.#thinkWhole(thought.part);
    else if (thought.kind !== 'text' || thought.text !== '') this.#thinkPiece(thought);
  }

  #thinkPiece(thought: Exclude<Thought, { kind: 'whole' }>): void {
    const part = this.#current('reasoning');
    if (thought.kind === 'summary') {
      if (this.#lastSummary !== undefined && this.#lastSummary !== thought.index) this.#summaryIndex += 1;
      this.#lastSummary = thought.index;
      this.#order.add(part, { ...thought, index: this.#summaryIndex });
      return;
    }
    this.#order.add(part, thought);
    if (thought.kind !== 'text') part.isSealed = true;
  }

  /** Of thoughts that came in pieces before, only the proof is new. */
  #thinkWhole(whole: ReasoningPart): void {
    const last = this.#order.last;
    const { signature, encrypted } = whole;
    const isNew = last?.opened?.kind !== 'reasoning' || last.isSealed;
    if (!isNew && signature !== undefined) this.#order.add(last, { kind: 'signature', signature });
    else if (!isNew && encrypted?.family === 'openai') this.#order.add(last, { kind: 'encrypted', encrypted });
    else {
      this.#order.begin({ kind: 'whole', part: whole });
      return;
    }
    last.isSealed = true;
  }

  /** One entry of a list: Mistral lists texts and thoughts, OpenRouter images. */
  #readPart(entry: JsonObject | undefined): void {
    if (entry === undefined) return;
    const { text, thinking } = entry;
    if (typeof text === 'string') this.#say(text, undefined);
    else if (typeof thinking === 'string') this.#think({ kind: 'text', text: thinking });
    else if (Array.isArray(thinking)) this.#think({ kind: 'text', text: textsOf(thinking).join('') });
    else this.#order.begin({ kind: 'whole', part: imageOf(entry) ?? foreign(entry) });
  }

  #hear(audio: JsonObject | undefined): void {
    if (audio === undefined) return;
    this.#audio ??= { members: {}, data: [], transcript: [] };
    const { data, transcript, ...members } = audio;
    this.#audio.members = { ...this.#audio.members, ...members };
    if (typeof data === 'string') this.#audio.data.push(data);
    if (typeof transcript === 'string') this.#audio.transcript.push(transcript);
  }
}

interface SpokenParts {
  members: JsonObject;
  readonly data: string[];
  readonly transcript: string[];
}

/** The format is the one that was asked for; the answer does not say it. */
function soundOf({ members, data, transcript }: SpokenParts): AudioPart {
  return {
    kind: 'audio',
    source: { kind: 'base64', mediaType: 'audio/wav', data: data.join('') },
    transcript: transcript.length === 0 ? undefined : transcript.join(''),
    own: { dialect: 'chat', members: { part: members } },
  };
}

function imageOf(entry: JsonObject): ImagePart | undefined {
  const image = entry['image_url'];
  const url = textOf(image) ?? textOf(objectOf(image)?.['url']);
  return url === undefined ? undefined : { kind: 'image', source: sourceOfUrl(url) };
}

function foreign(entry: JsonObject): ForeignPart {
  return { kind: 'foreign', dialect: 'chat', name: textOf(entry['type']) ?? 'part', value: entry };
}
