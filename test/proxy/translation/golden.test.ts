// What clients of each format get of the recorded answers of providers. A case is two files: the answer, and what becomes of it.
// WRITE_GOLDEN=1 writes the second.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, parse } from 'node:path';
import { test } from 'tap';
import { parseObject, writeJson } from '../../../proxy/dialects/json/json.ts';
import { ServerEventSplitter } from '../../../proxy/dialects/server-events.ts';
import type {
  AnswerContext,
  ClientDialect,
  EventSplitter,
  ProviderDialect,
  RawEvent,
} from '../../../proxy/dialects/translation.ts';
import { clientDialects, providerDialects } from '../../../proxy/providers/dialects.ts';
import { OwnCalls } from '../../../proxy/translation/fit-calls.ts';
import { recordedFrames } from '../../support/aws-frames.ts';
import { isFull } from '../../support/extent.ts';

const answers = join(import.meta.dirname, '../../fixtures/answers');
const goldens = join(import.meta.dirname, '../../fixtures/translations');
/** The client asked for a stream with its usage, and for nothing that shows in an answer. */
const asked = { stream_options: { include_usage: true } };

function contextOf(client: ClientDialect): AnswerContext {
  const conversation = { messages: [{ role: 'user', content: 'q' }], input: 'q', prompt: 'q', max_tokens: 100 };
  const body = { model: 'm', stream: true, ...conversation, ...(client.name === 'messages' ? {} : asked) };
  let ids = 0;
  const newId = (): string => {
    ids += 1;
    return String(ids).padStart(24, '0');
  };
  return { model: 'asked-model', nowSeconds: 1_767_225_600, newId, request: client.readRequest(body), body };
}

function ownCalls({ request, newId }: AnswerContext): OwnCalls {
  return new OwnCalls(request, new Map(), newId);
}

/** A whole answer, as one line of JSON. */
function translatedAnswer(text: string, provider: ProviderDialect, client: ClientDialect): string {
  const context = contextOf(client);
  const answer = ownCalls(context).answer(provider.readAnswer(parseObject(text) ?? {}));
  return `${writeJson(client.writeAnswer(answer, context))}\n`;
}

function translatedStream(events: readonly RawEvent[], provider: ProviderDialect, client: ClientDialect): string {
  const context = contextOf(client);
  const reader = ownCalls(context).reader(provider.eventReader());
  const writer = client.eventWriter(context);
  const told = [...events.flatMap((event) => reader.read(event)), ...reader.end()];
  return told.flatMap((event) => [...writer.write(event)]).join('');
}

/** The events of a stream that comes in two pieces. */
function splitAt(bytes: Buffer, at: number, splitter: EventSplitter): readonly RawEvent[] {
  const first = splitter.push(Buffer.from(bytes.subarray(0, at)));
  return [...first, ...splitter.push(Buffer.from(bytes.subarray(at))), ...splitter.end()];
}

const clients = Object.values(clientDialects);

for (const [format, provider] of Object.entries(providerDialects)) {
  const folder = join(answers, format);
  await test(`answers of ${format} become those of every client, wherever a stream is cut`, async (t) => {
    const files = readdirSync(folder);
    t.ok(files.length > 10, `${format} has recorded answers`);
    for (const file of files) {
      const text = readFileSync(join(folder, file), 'utf8');
      const bytes = file.endsWith('.jsonl') ? recordedFrames(text) : Buffer.from(text);
      const splitter = (): EventSplitter => provider.eventSplitter?.() ?? new ServerEventSplitter();
      const isStream = !file.endsWith('.json');
      const events = isStream ? splitAt(bytes, bytes.length, splitter()) : [];
      if (isStream) t.equal(firstOddCut(bytes, splitter, events), undefined, `${file} is cut anywhere`);
      const translate = (client: ClientDialect): string =>
        isStream ? translatedStream(events, provider, client) : translatedAnswer(text, provider, client);
      const told = clients.map((client) => `== ${client.name}\n${translate(client)}`).join('\n');
      t.equal(told, goldenOf(join(goldens, format), `${parse(file).base}.txt`, told), `${format}/${file}`);
    }
  });
}

/** The first place where a cut changes the events; undefined: none does. */
function firstOddCut(bytes: Buffer, splitter: () => EventSplitter, events: readonly RawEvent[]): number | undefined {
  const expected = JSON.stringify(events);
  for (let at = 1; at < bytes.length; at += 1) {
    if (!isFull && !mayMatter(bytes, at)) continue;
    if (JSON.stringify(splitAt(bytes, at, splitter())) !== expected) return at;
  }
  return undefined;
}

/** Whether a cut here is by the end of a line, in the name of a field, in a character of several bytes, or in the head of a frame. */
function mayMatter(bytes: Buffer, at: number): boolean {
  return bytes.subarray(Math.max(0, at - 7), at + 2).some((byte) => byte < 0x20 || byte > 0x7e);
}

function goldenOf(folder: string, file: string, told: string): string {
  const path = join(folder, file);
  if (process.env['WRITE_GOLDEN'] === '1') {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, told);
  }
  return existsSync(path) ? readFileSync(path, 'utf8') : 'no such golden file; write it with WRITE_GOLDEN=1';
}
