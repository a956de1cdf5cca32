// The wires of the fake providers: how an answer is written, how an error, and how far a point of a stream is.
import { bedrockWire } from '../support/scripted-model/bedrock.ts';
import { chatWire } from '../support/scripted-model/chat.ts';
import { geminiWire } from '../support/scripted-model/gemini.ts';
import type { Heard } from '../support/scripted-model/heard.ts';
import { messagesWire } from '../support/scripted-model/messages.ts';
import { responsesWire } from '../support/scripted-model/responses.ts';
import { deltasOf, type Said, sse, type Wire } from '../support/scripted-model/wire.ts';
import type { Point, WireName } from './scenario.ts';

/** Tokens. */
export interface Usage {
  readonly input: number;
  readonly output: number;
}

/** What a fake provider would answer. */
export interface Answer {
  readonly text: string;
  readonly usage: Usage;
}

const wires: Readonly<Record<WireName, Wire>> = {
  chat: chatWire,
  responses: responsesWire,
  messages: messagesWire,
  gemini: geminiWire,
  bedrock: bedrockWire,
};

/** Events before the first word, and characters of a word as each wire cuts them. */
const framing: Readonly<Record<WireName, { readonly before: number; readonly length: number }>> = {
  chat: { before: 1, length: 7 },
  responses: { before: 4, length: 7 },
  messages: { before: 3, length: 7 },
  gemini: { before: 0, length: 11 },
  bedrock: { before: 1, length: 7 },
};

const said = ({ text, usage }: Answer, model: string): Said => ({
  saying: {
    thought: '',
    text,
    calls: [],
    usage: { ...usage, cached: 0, thoughts: 0 },
    isSlow: false,
    breaks: false,
  },
  heard: { model, tellsUsage: true, tellsSignature: false } as Heard,
  number: 1,
});

/** An answer that is no stream. */
export function wholeAnswer(wire: WireName, answer: Answer, model: string): object {
  return wires[wire].answer(said(answer, model));
}

/** The events of a stream, each with its framing. */
export function eventsOf(wire: WireName, answer: Answer, model: string): readonly (string | Buffer)[] {
  const events = wires[wire].stream(said(answer, model));
  // Of an answer without words Gemini tells the finish reason all the same.
  return events.length > 0 ? events : [sse(wholeAnswer(wire, answer, model))];
}

export function streamType(wire: WireName): string {
  return wires[wire].streamType;
}

/** The number of events up to a point of a stream. */
export function eventsUntil(point: Point, wire: WireName, { text }: Answer, all: number): number {
  const { before, length } = framing[wire];
  const words = deltasOf(text, length).length;
  if (point === 'nothing' || point === 'head') return 0;
  if (point === 'role') return before;
  if (point === 'middle') return before + Math.floor(words / 2);
  // Gemini's last word is the event with the finish reason.
  if (point === 'words') return before + words - (wire === 'gemini' ? 1 : 0);
  return all - 1;
}

/** An error in the envelope of the wire, for a status. */
export function errorBody(wire: WireName, status: number, message: string): object {
  const type = typeOf(status);
  if (wire === 'messages') return { type: 'error', error: { type, message }, request_id: 'req_1' };
  if (wire === 'gemini') return { error: { code: status, message, status: googleStatus(status) } };
  if (wire === 'bedrock') return { message };
  return { error: { message, type, param: null, code: null } };
}

function typeOf(status: number): string {
  const types: Readonly<Record<number, string>> = {
    401: 'authentication_error',
    402: 'billing_error',
    403: 'permission_error',
    404: 'not_found_error',
    413: 'request_too_large',
    429: 'rate_limit_error',
    529: 'overloaded_error',
  };
  return types[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}

function googleStatus(status: number): string {
  const words: Readonly<Record<number, string>> = {
    401: 'UNAUTHENTICATED',
    403: 'PERMISSION_DENIED',
    404: 'NOT_FOUND',
    429: 'RESOURCE_EXHAUSTED',
    503: 'UNAVAILABLE',
  };
  return words[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');
}

/** An error event; `besideChoices`: with the members of a chunk around it, as some servers of chat write it. */
export function errorEvent(wire: WireName, besideChoices: boolean): string | Buffer {
  if (wire !== 'chat' || !besideChoices) return wires[wire].failure('The server is overloaded.');
  const error = { code: 502, message: 'The server is overloaded.' };
  const choices = [{ index: 0, delta: { content: '' }, finish_reason: 'error' }];
  return sse({ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'm', error, choices });
}

/** Of a stream without a finish reason: its events without the one that has it. */
export function withoutFinish(wire: WireName, answer: Answer, model: string): readonly (string | Buffer)[] {
  const events = eventsOf(wire, answer, model);
  const finish = wire === 'chat' ? '"finish_reason":"stop"' : '';
  if (wire === 'messages') return events.filter((event) => !event.includes('message_delta'));
  if (wire === 'gemini') return events.map((event) => String(event).replace('"finishReason":"STOP",', ''));
  return finish === '' ? events : events.filter((event) => !event.includes(finish));
}
