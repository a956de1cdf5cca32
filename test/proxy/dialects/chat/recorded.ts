// Recorded answers of servers that speak chat, and what they tell.
import { readdirSync, readFileSync } from 'node:fs';
import { chatTranslation } from '../../../../proxy/dialects/chat/translate.ts';
import type { ConversationAnswer, ConversationRequest } from '../../../../proxy/dialects/conversation/conversation.ts';
import { AnswerFold } from '../../../../proxy/dialects/conversation/fold-events.ts';
import type { StreamEvent } from '../../../../proxy/dialects/conversation/stream-event.ts';
import { type JsonObject, parseObject } from '../../../../proxy/dialects/json/json.ts';
import { ServerEventSplitter } from '../../../../proxy/dialects/server-events.ts';
import type { AnswerContext } from '../../../../proxy/dialects/translation.ts';

const folder = new URL('../../../fixtures/answers/chat/', import.meta.url);

/** The cases that have both forms. */
export const cases: readonly string[] = readdirSync(folder).flatMap((file) =>
  file.endsWith('.json') ? [file.slice(0, -5)] : [],
);

export function recordedAnswer(name: string): ConversationAnswer {
  return chatTranslation.readAnswer(parseObject(readFileSync(new URL(`${name}.json`, folder), 'utf8')) ?? {});
}

export function recordedBytes(name: string): Buffer {
  return readFileSync(new URL(`${name}.sse`, folder));
}

/** The events of a stream as text. */
export function eventsOf(stream: Buffer | string): readonly StreamEvent[] {
  const splitter = new ServerEventSplitter();
  const reader = chatTranslation.eventReader();
  const raw = [...splitter.push(Buffer.from(stream)), ...splitter.end()];
  return [...raw.flatMap((event) => reader.read(event)), ...reader.end()];
}

/** The events of these chunks, with `[DONE]` behind them. */
export function eventsOfChunks(...chunks: readonly JsonObject[]): readonly StreamEvent[] {
  return eventsOf(
    [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''),
  );
}

/** The same of the deltas of one choice; it finishes with `stop`. */
export function eventsOfDeltas(...deltas: readonly JsonObject[]): readonly StreamEvent[] {
  const chunks = deltas.map((delta) => ({ id: 'a', model: 'm', choices: [{ index: 0, delta }] }));
  return eventsOfChunks(...chunks, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
}

export function folded(events: readonly StreamEvent[]): ConversationAnswer {
  const fold = new AnswerFold();
  for (const event of events) fold.add(event);
  return fold.answer();
}

/** As JSON, so that members that are undefined count as absent. */
export function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** What breaks the order of the events; undefined: nothing. */
export function disorder(events: readonly StreamEvent[]): string | undefined {
  let next = 0;
  let open: number | undefined;
  for (const [at, event] of events.entries()) {
    const isLast = event.kind === 'finished' || event.kind === 'failed';
    if ((event.kind === 'started') !== (at === 0)) return `event ${at} is ${event.kind}`;
    if (isLast && (at !== events.length - 1 || open !== undefined)) return `${event.kind} at ${at}, with ${open} open`;
    if (event.kind === 'opened') {
      if (open !== undefined || event.index !== next) return `part ${event.index} opened at ${at}`;
      open = next;
      next += 1;
    }
    if ((event.kind === 'delta' || event.kind === 'closed') && event.index !== open) return `${event.kind} at ${at}`;
    if (event.kind === 'closed') open = undefined;
  }
  return undefined;
}

/** What a client's answer needs. */
export function contextOf(body: JsonObject = {}, request: Partial<ConversationRequest> = {}): AnswerContext {
  const messages = [{ role: 'user', content: 'Hi' }];
  return {
    model: 'asked',
    nowSeconds: 1_700_000_000,
    newId: () => '0123456789abcdef01234567',
    request: { ...chatTranslation.readRequest({ messages, ...body }), ...request },
    body,
  };
}
