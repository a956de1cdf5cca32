// Reads the events of ConverseStream. Texts and thoughts have no event that opens them, and the usage comes behind the end.
import type { Finish } from '../conversation/conversation.ts';
import type { OpenedPart, PartDelta, StreamEvent } from '../conversation/stream-event.ts';
import { type JsonObject, numberOf, objectOf, parseObject, textOf } from '../json/json.ts';
import { type EventReader, InvalidAnswer, type RawEvent } from '../translation.ts';
import { exceptionEvent } from './event-stream.ts';
import { readFinish } from './read-answer.ts';
import { readBlock, readCitation, readToolUse, signatureOf } from './read-blocks.ts';
import { readError } from './read-error.ts';
import { readUsage } from './read-usage.ts';

/** The block that is open. */
interface Open {
  readonly block: number;
  /** Undefined: nothing of it has been told. */
  part: OpenedPart['kind'] | undefined;
  /** A tool call has got input. */
  hasInput: boolean;
  /** Signatures and redacted thoughts may come in pieces; they are told whole. */
  signature: string;
  readonly redacted: Buffer[];
  /** An image may come in pieces, too. */
  image: { readonly format: string; readonly pieces: Buffer[] } | undefined;
}

export class BedrockEventReader implements EventReader {
  #events: StreamEvent[] = [];
  #isStarted = false;
  #isOver = false;
  #hasUsage = false;
  #hasCalls = false;
  #finish: Finish | undefined;
  #parts = 0;
  #open: Open | undefined;

  read({ event, data }: RawEvent): readonly StreamEvent[] {
    if (this.#isOver) return [];
    if (event === exceptionEvent) this.#fail(data);
    else {
      const body = parseObject(data);
      if (body === undefined) throw new InvalidAnswer('an event is no JSON object');
      this.#take(event, body);
    }
    return this.#told();
  }

  end(): readonly StreamEvent[] {
    if (!this.#isOver && this.#finish !== undefined) this.#tellFinish(this.#finish);
    return this.#told();
  }

  #told(): readonly StreamEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #take(event: string | undefined, body: JsonObject): void {
    this.#start();
    if (event === 'contentBlockStart') this.#openBlock(indexOf(body), objectOf(body['start']) ?? {});
    else if (event === 'contentBlockDelta') this.#grow(indexOf(body), objectOf(body['delta']) ?? {});
    else if (event === 'contentBlockStop') this.#close();
    else if (event === 'messageStop') {
      this.#close();
      this.#finish = readFinish(body, this.#hasCalls);
      if (this.#hasUsage) this.#tellFinish(this.#finish);
    } else if (event === 'metadata') {
      const usage = readUsage(body['usage']);
      if (usage === undefined) return;
      this.#hasUsage = true;
      this.#events.push({ kind: 'usage', usage });
      if (this.#finish !== undefined) this.#tellFinish(this.#finish);
    }
  }

  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#events.push({ kind: 'started', id: '', model: '' });
  }

  #fail(data: string): void {
    this.#start();
    this.#close();
    const { message, code, type } = readError(data);
    this.#events.push({ kind: 'failed', failure: { message, code, type } });
    this.#isOver = true;
  }

  #tellFinish(finish: Finish): void {
    this.#close();
    this.#events.push({ kind: 'finished', finish });
    this.#isOver = true;
  }

  #openBlock(block: number, start: JsonObject): Open {
    this.#close();
    const open: Open = { block, part: undefined, hasInput: false, signature: '', redacted: [], image: undefined };
    this.#open = open;
    const toolUse = objectOf(start['toolUse']);
    const format = textOf(objectOf(start['image'])?.['format']);
    if (toolUse !== undefined) {
      this.#hasCalls = true;
      this.#tellOpened(open, { kind: 'tool_call', ...readToolUse(toolUse), isFreeText: false });
    } else if (format !== undefined) open.image = { format, pieces: [] };
    return open;
  }

  #grow(block: number, delta: JsonObject): void {
    const open = this.#open?.block === block ? this.#open : this.#openBlock(block, {});
    const input = textOf(objectOf(delta['toolUse'])?.['input']);
    const citation = objectOf(delta['citation']);
    const image = textOf(objectOf(objectOf(delta['image'])?.['source'])?.['bytes']);
    this.#tellText(open, 'text', textOf(delta['text']));
    this.#think(open, objectOf(delta['reasoningContent']));
    if (input !== undefined) this.#callOn(open, input);
    if (citation !== undefined) {
      this.#need(open, 'text');
      this.#tell({ kind: 'citation', citation: readCitation(citation) });
    }
    if (image !== undefined) open.image?.pieces.push(Buffer.from(image, 'base64'));
  }

  #callOn(open: Open, input: string): void {
    if (open.part !== 'tool_call') throw new InvalidAnswer('input comes for a tool call that is not open');
    if (input === '') return;
    open.hasInput = true;
    this.#tell({ kind: 'text', text: input });
  }

  #think(open: Open, reasoning: JsonObject | undefined): void {
    const redacted = textOf(reasoning?.['redactedContent']);
    open.signature += textOf(reasoning?.['signature']) ?? '';
    this.#tellText(open, 'reasoning', textOf(reasoning?.['text']));
    if (redacted !== undefined) open.redacted.push(Buffer.from(redacted, 'base64'));
  }

  #tellText(open: Open, kind: 'text' | 'reasoning', text: string | undefined): void {
    if (text === undefined || text === '') return;
    this.#need(open, kind);
    this.#tell({ kind: 'text', text });
  }

  /** Opens the part of a block that nothing has opened. */
  #need(open: Open, kind: 'text' | 'reasoning'): void {
    if (open.part === undefined) this.#tellOpened(open, { kind });
    else if (open.part !== kind) throw new InvalidAnswer('a block has content of two kinds');
  }

  #tellOpened(open: Open, part: OpenedPart): void {
    open.part = part.kind;
    this.#events.push({ kind: 'opened', index: this.#parts, part });
  }

  #tell(delta: PartDelta): void {
    this.#events.push({ kind: 'delta', index: this.#parts, delta });
  }

  #close(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    this.#tellRest(open);
    if (open.part === undefined) return;
    this.#events.push({ kind: 'closed', index: this.#parts });
    this.#parts += 1;
  }

  /** Tells the parts that need the whole block. */
  #tellRest(open: Open): void {
    const { signature, redacted, image } = open;
    if (open.part === 'tool_call' && !open.hasInput) this.#tell({ kind: 'text', text: '{}' });
    if (signature !== '') {
      this.#need(open, 'reasoning');
      this.#tell({ kind: 'signature', signature: signatureOf(signature) });
    }
    if (redacted.length > 0) {
      const encrypted = signatureOf(Buffer.concat(redacted).toString('base64'));
      if (open.part === 'reasoning') this.#tell({ kind: 'encrypted', encrypted });
      else this.#tellOpened(open, { kind: 'whole', part: { kind: 'reasoning', text: '', summary: [], encrypted } });
    }
    if (image === undefined) return;
    const bytes = Buffer.concat(image.pieces).toString('base64');
    const part = readBlock({ image: { format: image.format, source: { bytes } } });
    if (part !== undefined) this.#tellOpened(open, { kind: 'whole', part });
  }
}

function indexOf(body: JsonObject): number {
  return numberOf(body['contentBlockIndex']) ?? 0;
}
