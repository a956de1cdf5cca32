// Recorded answers of Anthropic, and how a stream is read and written in tests.
import { readdirSync, readFileSync } from 'node:fs';
import { AnswerFold } from '../../../../proxy/dialects/conversation/fold-events.ts';
import type { StreamEvent } from '../../../../proxy/dialects/conversation/stream-event.ts';
import { type JsonObject, parseObject } from '../../../../proxy/dialects/json/json.ts';
import { messagesTranslation } from '../../../../proxy/dialects/messages/translate.ts';
import { ServerEventSplitter } from '../../../../proxy/dialects/server-events.ts';
import type { AnswerContext } from '../../../../proxy/dialects/translation.ts';

const folder = new URL('../../../fixtures/answers/messages/', import.meta.url);

/** The names of the answers that were recorded as a whole and as a stream. */
export const cases = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => name.slice(0, -'.json'.length));

export function recorded(name: string): Buffer {
  return readFileSync(new URL(name, folder));
}

export function answerOf(name: string): JsonObject {
  return parseObject(recorded(`${name}.json`).toString()) ?? {};
}

/** The events of a stream that comes in these chunks. */
export function eventsOf(chunks: readonly Buffer[]): readonly StreamEvent[] {
  const splitter = new ServerEventSplitter();
  const reader = messagesTranslation.eventReader();
  const raw = [...chunks.flatMap((chunk) => splitter.push(Buffer.from(chunk))), ...splitter.end()];
  return [...raw.flatMap((event) => reader.read(event)), ...reader.end()];
}

export function fold(events: readonly StreamEvent[]): AnswerFold {
  const folded = new AnswerFold();
  for (const event of events) folded.add(event);
  return folded;
}

export const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

export const context: AnswerContext = {
  model: 'fast',
  nowSeconds: 1_700_000_000,
  newId: () => '0123456789abcdef01234567',
  request: messagesTranslation.readRequest({
    model: 'fast',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
  }),
  body: {},
};

export function written(events: readonly StreamEvent[]): string {
  const writer = messagesTranslation.eventWriter(context);
  return events.flatMap((event) => [...writer.write(event)]).join('');
}
