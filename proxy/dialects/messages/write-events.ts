// Writes an answer as a stream for a client of Anthropic's Messages: every event that its SDK puts an answer together from.
import type { ConversationUsage, Finish } from '../conversation/conversation.ts';
import type { Citation, Signature } from '../conversation/parts.ts';
import type { OpenedPart, PartDelta, StreamEvent, StreamFailure } from '../conversation/stream-event.ts';
import { packSignature } from '../foreign-signature.ts';
import { type JsonObject, writeJson } from '../json/json.ts';
import { writeRescued } from '../rescued.ts';
import { statusSaid } from '../said-status.ts';
import type { AnswerContext, EventWriter } from '../translation.ts';
import { writeCitation } from './citations.ts';
import { writeFinish } from './finish.ts';
import { anthropicErrorType } from './kind-of-error.ts';
import { writeUsage } from './read/read-usage.ts';
import { headOf, signatureBlock, writePart } from './write-answer.ts';

/** A part that is open. Its block begins with the first thing it says, because an empty one could not be sent back. */
interface Open {
  readonly part: Exclude<OpenedPart, { readonly kind: 'whole' }>;
  isBegun: boolean;
  /** The summary of thoughts that is being told. */
  summary: number;
  /** Of the call of a tool. */
  signature: Signature | undefined;
}

/** Of one answer. */
export class MessagesWriter implements EventWriter {
  readonly #context: AnswerContext;
  #head: { readonly id: string; readonly model: string } | undefined;
  #usage: ConversationUsage | undefined;
  /** Number of the next block; not every part is one. */
  #next = 0;
  #open: Open | undefined;
  #callsTool = false;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  write(event: StreamEvent): readonly string[] {
    return [this.#write(event)];
  }

  #write(event: StreamEvent): string {
    switch (event.kind) {
      case 'started':
        // The beginning tells the usage, so it waits for the next event, which may be that.
        this.#head = event;
        return '';
      case 'usage':
        this.#usage = event.usage;
        return this.#start();
      case 'opened':
        return this.#start() + this.#opened(event.part);
      case 'delta':
        return this.#delta(event.delta);
      case 'closed':
        return this.#closed();
      case 'finished':
        return this.#start() + this.#finished(event.finish);
      case 'failed':
        break;
    }
    return failed(event.failure);
  }

  #start(): string {
    const head = this.#head;
    if (head === undefined) return '';
    this.#head = undefined;
    const { outputTokens = 0, ...usage } = this.#usage ?? { inputTokens: 0 };
    const message = {
      ...headOf(head, this.#context),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: writeUsage({ ...usage, outputTokens }),
    };
    return serverEvent({ type: 'message_start', message });
  }

  #opened(part: OpenedPart): string {
    if (part.kind === 'whole')
      return writePart(part.part)
        .map((block) => this.#wholeBlock(block))
        .join('');
    this.#open = { part, isBegun: false, summary: 0, signature: undefined };
    if (part.kind !== 'tool_call') return '';
    this.#callsTool = true;
    return this.#begin(this.#open);
  }

  #begin(open: Open): string {
    if (open.isBegun) return '';
    open.isBegun = true;
    const begun = serverEvent({ type: 'content_block_start', index: this.#next, content_block: emptyBlock(open.part) });
    return isFreeText(open) ? begun + this.#inputPiece('{"input":"') : begun;
  }

  #delta(delta: PartDelta): string {
    const open = this.#open;
    if (open === undefined) return '';
    switch (delta.kind) {
      case 'text':
        return delta.text === '' ? '' : this.#begin(open) + this.#said(open, delta.text);
      case 'summary': {
        const gap = delta.index > open.summary ? '\n\n' : '';
        open.summary = delta.index;
        return delta.text === '' ? '' : this.#begin(open) + this.#said(open, gap + delta.text);
      }
      case 'citation':
        return this.#cited(open, delta.citation);
      case 'signature':
        return this.#signed(open, delta.signature);
      case 'encrypted':
        break;
    }
    return this.#signed(open, delta.encrypted);
  }

  #said({ part }: Open, text: string): string {
    if (part.kind === 'reasoning') return this.#blockDelta({ type: 'thinking_delta', thinking: text });
    // Nearly every event is one of these: so it takes half the time, 70 ns.
    if (part.kind !== 'tool_call') {
      const delta = `{"type":"text_delta","text":${writeJson(text)}}`;
      return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#next},"delta":${delta}}\n\n`;
    }
    return this.#inputPiece(part.isFreeText ? writeJson(text).slice(1, -1) : text);
  }

  #cited(open: Open, citation: Citation): string {
    const place = writeCitation(citation);
    if (place === undefined || open.part.kind !== 'text') return '';
    return this.#begin(open) + this.#blockDelta({ type: 'citations_delta', citation: place });
  }

  #signed(open: Open, signature: Signature): string {
    if (open.part.kind === 'reasoning') {
      const signed = { type: 'signature_delta', signature: packSignature(signature, 'anthropic') };
      return this.#begin(open) + this.#blockDelta(signed);
    }
    open.signature = signature;
    return '';
  }

  #closed(): string {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || !open.isBegun) return '';
    const closed = (isFreeText(open) ? this.#inputPiece('"}') : '') + this.#stop();
    return open.signature === undefined ? closed : closed + this.#wholeBlock(signatureBlock(open.signature));
  }

  /** Clients read what a block says from its deltas, not from its beginning. */
  #wholeBlock(block: JsonObject): string {
    const { begun, deltas } = inPieces(block);
    const start = serverEvent({ type: 'content_block_start', index: this.#next, content_block: begun });
    return start + deltas.map((delta) => this.#blockDelta(delta)).join('') + this.#stop();
  }

  #stop(): string {
    const stopped = serverEvent({ type: 'content_block_stop', index: this.#next });
    this.#next += 1;
    return stopped;
  }

  #inputPiece(partial_json: string): string {
    return this.#blockDelta({ type: 'input_json_delta', partial_json });
  }

  #blockDelta(delta: JsonObject): string {
    return serverEvent({ type: 'content_block_delta', index: this.#next, delta });
  }

  #finished(finish: Finish): string {
    const delta = writeFinish(finish, this.#callsTool);
    return (
      serverEvent({ type: 'message_delta', delta, usage: writeUsage(this.#usage), ...writeRescued(finish) }) +
      serverEvent({ type: 'message_stop' })
    );
  }
}

function isFreeText({ part }: Open): boolean {
  return part.kind === 'tool_call' && part.isFreeText;
}

/** A block as it begins, and what follows; blocks that Anthropic sends as a whole have nothing to follow. */
function inPieces(block: JsonObject): { readonly begun: JsonObject; readonly deltas: readonly JsonObject[] } {
  const { type, text, thinking, signature } = block;
  if (type === 'text') return { begun: { ...block, text: '' }, deltas: [{ type: 'text_delta', text }] };
  if (type !== 'thinking') return { begun: block, deltas: [] };
  const deltas = [
    { type: 'thinking_delta', thinking },
    { type: 'signature_delta', signature },
  ];
  return { begun: { ...block, thinking: '', signature: '' }, deltas: thinking === '' ? deltas.slice(1) : deltas };
}

function emptyBlock(part: Open['part']): JsonObject {
  if (part.kind === 'tool_call') return { type: 'tool_use', id: part.id, name: part.name, input: {} };
  return part.kind === 'reasoning' ? { type: 'thinking', thinking: '', signature: '' } : { type: 'text', text: '' };
}

function failed({ message, code, type, provider, status }: StreamFailure): string {
  const kind = anthropicErrorType(status ?? statusSaid({ code, type }) ?? 500);
  return serverEvent({ type: 'error', error: { type: kind, message, code, param: null, provider } });
}

function serverEvent(event: { readonly type: string } & JsonObject): string {
  return `event: ${event.type}\ndata: ${writeJson(event)}\n\n`;
}
