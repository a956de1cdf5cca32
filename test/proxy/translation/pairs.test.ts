// What two formats can both say survives the way from one to the other, in requests and in answers.
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'tap';
import type {
  ConversationAnswer,
  ConversationRequest,
  Turn,
} from '../../../proxy/dialects/conversation/conversation.ts';
import { AnswerFold } from '../../../proxy/dialects/conversation/fold-events.ts';
import type { Part } from '../../../proxy/dialects/conversation/parts.ts';
import type { StreamEvent } from '../../../proxy/dialects/conversation/stream-event.ts';
import { objectOf, parseJson, parseObject, writeJson } from '../../../proxy/dialects/json/json.ts';
import { ServerEventSplitter } from '../../../proxy/dialects/server-events.ts';
import type { AnswerContext, ClientDialect, ProviderDialect } from '../../../proxy/dialects/translation.ts';
import { clientDialects, providerDialects } from '../../../proxy/providers/dialects.ts';
import { anyCharacter } from '../../support/arbitrary.ts';
import { runs } from '../../support/extent.ts';

const both = (['chat', 'responses', 'messages'] as const).map((name) => {
  const [client, provider] = [clientDialects[name], providerDialects[name]];
  if (client === undefined || provider === undefined) throw new Error(`${name} is not implemented`);
  return { name, client, provider };
});
const noLosses = {
  hint: () => undefined,
  meaning: (field: string, because: string) => {
    throw new Error(`${field}: ${because}`);
  },
};

const words = fc
  .string({
    minLength: 1,
    maxLength: 12,
    unit: fc.oneof(anyCharacter, fc.constantFrom('a', ' ', 'e\u0301', '👨‍👩‍👧', '🇨🇭')),
  })
  .filter((text) => text.trim() !== '');
const name = fc.stringMatching(/^[a-z][a-z_]{0,8}$/);
const data = fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString('base64'));
const text = words.map((said): Part => ({ kind: 'text', text: said }));
const image = data.map((base64): Part => {
  return { kind: 'image', source: { kind: 'base64', mediaType: 'image/png', data: base64 } };
});
const input = fc.dictionary(name, fc.oneof(words, fc.integer(), fc.boolean())).map((value) => JSON.stringify(value));
const schema = fc.constant({
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
});

/** The user asks, the model calls tools, and gets their results. */
const exchange = fc
  .record({
    asked: fc.array(fc.oneof(text, image), { minLength: 1, maxLength: 3 }),
    inputs: fc.array(input),
    said: text,
  })
  .map(({ asked, inputs, said }): readonly Turn[] => {
    const calls = inputs.map((each, index): Part => {
      return { kind: 'tool_call', id: `call_${index}`, name: 'f', input: each, isFreeText: false };
    });
    const results = calls.map((call, index): Part => {
      const callId = call.kind === 'tool_call' ? call.id : '';
      const content = [{ kind: 'text', text: `result ${index}` }] as const;
      return { kind: 'tool_result', callId, content, isError: false, isFreeText: false };
    });
    return [
      { role: 'user', parts: asked },
      { role: 'assistant', parts: [said, ...calls] },
      ...(results.length === 0 ? [] : [{ role: 'user', parts: results } as const]),
    ];
  });

const request = fc.record({
  system: fc.array(
    words.map((said) => ({ kind: 'text' as const, text: said })),
    { maxLength: 1 },
  ),
  exchanges: fc.array(exchange, { minLength: 1, maxLength: 2 }),
  question: words,
  maxTokens: fc.integer({ min: 16, max: 9_000 }),
  temperature: fc.option(fc.constantFrom(0, 0.5, 1), { nil: undefined }),
  toolChoice: fc.constantFrom({ kind: 'auto' }, { kind: 'required' }, { kind: 'tool', name: 'f' }),
  parallelTools: fc.boolean(),
  outputSchema: fc.option(schema, { nil: undefined }),
});

/** What all three can say of a request, in one form. */
function sayable(asked: ConversationRequest): unknown {
  const { system, turns, tools, toolChoice, parallelTools, output, sampling, maxTokens, stream } = asked;
  const merged: { role: string; parts: Part[] }[] = [];
  for (const { role, parts } of turns) {
    const last = merged.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else merged.push({ role, parts: [...parts] });
  }
  return plain({
    system: system.map((part) => part.text).join('\n'),
    turns: merged.map(({ role, parts }) => ({ role, parts: joined(parts).map(sayablePart) })),
    tools: tools.map((tool) => (tool.kind === 'function' ? [tool.name, tool.description, tool.parameters] : tool.kind)),
    toolChoice: toolChoice ?? { kind: 'auto' },
    isParallel: parallelTools ?? true,
    schema: output?.kind === 'schema' ? output.schema : undefined,
    temperature: sampling.temperature,
    maxTokens,
    stream,
  });
}

/** Formats may join texts that follow one another, with an empty line between them. */
function joined(parts: readonly Part[]): readonly Part[] {
  const all: Part[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (part.kind === 'text' && last?.kind === 'text')
      all.splice(-1, 1, { ...last, text: `${last.text}\n\n${part.text}` });
    else all.push(part);
  }
  return all;
}

function sayablePart(part: Part): unknown {
  if (part.kind === 'text') return ['text', part.text];
  if (part.kind === 'image') return ['image', part.source];
  if (part.kind === 'tool_call') return ['tool_call', part.id, part.name, parseJson(part.input)];
  if (part.kind === 'tool_result')
    return ['tool_result', part.callId, part.content.map((each) => 'text' in each && each.text)];
  return part;
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

await test('a request says the same in every format', async () => {
  for (const from of both) {
    for (const to of both) {
      fc.assert(
        fc.property(request, ({ exchanges, question, temperature, outputSchema, toolChoice, ...given }) => {
          const asked = {
            ...given,
            dialect: from.name,
            turns: [...exchanges.flat(), { role: 'user', parts: [{ kind: 'text', text: question }] }],
            toolChoice,
            tools: [
              { kind: 'function', name: 'f', description: 'Does f.', parameters: { type: 'object', properties: {} } },
            ],
            output: outputSchema && { kind: 'schema', name: 'answer', schema: outputSchema },
            sampling: { temperature },
            stop: [],
            stream: true,
            wantsUsage: false,
            ownMembers: [],
          } as ConversationRequest;
          const body = to.provider.writeRequest(asked, { model: 'm', quirks: {} }, noLosses);
          const read = to.client.readRequest(parseObject(writeJson(body)) ?? {});
          assert.deepEqual(sayable(read), sayable(asked), `${from.name} to ${to.name}`);
        }),
        runs(400),
      );
    }
  }
});

const answer = fc
  .record({
    said: fc.option(words, { nil: undefined }),
    inputs: fc.array(input, { maxLength: 3 }),
    output: fc.nat(9_000),
  })
  .map(({ said, inputs, output }): ConversationAnswer => {
    const calls = inputs.map((each, index): Part => {
      return { kind: 'tool_call', id: `call_${index}`, name: 'f', input: each, isFreeText: false };
    });
    const parts: Part[] = [
      ...(said === undefined && calls.length > 0 ? [] : [{ kind: 'text', text: said ?? 'x' } as const]),
      ...calls,
    ];
    return {
      id: 'id_1',
      model: 'm',
      createdAt: 1_767_225_600,
      parts,
      finish: { reason: calls.length === 0 ? 'stop' : 'tool_calls' },
      usage: { inputTokens: 30, outputTokens: output, totalTokens: 30 + output, cachedTokens: 10 },
    };
  });

function contextOf(client: ClientDialect): AnswerContext {
  const body = { model: 'm', messages: [{ role: 'user', content: 'q' }], input: 'q', max_tokens: 9, stream: true };
  const read = client.readRequest(body);
  const newId = (): string => '0'.repeat(24);
  return { model: 'm', nowSeconds: 1_767_225_600, newId, request: { ...read, wantsUsage: true }, body };
}

/** What all three can say of an answer. */
function told({ parts, finish, usage }: ConversationAnswer): unknown {
  const counts = usage && [usage.inputTokens, usage.outputTokens, usage.cachedTokens];
  return plain([parts.map(sayablePart), finish.reason, counts]);
}

/** The events that tell an answer. */
function eventsOf({ id, model, parts, finish, usage, createdAt }: ConversationAnswer): StreamEvent[] {
  const opened = parts.flatMap((part, index): StreamEvent[] => {
    const isCall = part.kind === 'tool_call';
    const begun = isCall
      ? ({ kind: 'tool_call', id: part.id, name: part.name, isFreeText: false } as const)
      : ({ kind: 'text' } as const);
    const said = isCall ? part.input : part.kind === 'text' ? part.text : '';
    return [
      { kind: 'opened', index, part: begun },
      ...Array.from(said).map((piece): StreamEvent => ({ kind: 'delta', index, delta: { kind: 'text', text: piece } })),
      { kind: 'closed', index },
    ];
  });
  const counted: StreamEvent[] = usage === undefined ? [] : [{ kind: 'usage', usage }];
  return [{ kind: 'started', id, model, createdAt }, ...opened, ...counted, { kind: 'finished', finish }];
}

function readBack(stream: string, provider: ProviderDialect): ConversationAnswer {
  const splitter = new ServerEventSplitter();
  const reader = provider.eventReader();
  const fold = new AnswerFold();
  const raw = [...splitter.push(Buffer.from(stream)), ...splitter.end()];
  for (const event of [...raw.flatMap((each) => reader.read(each)), ...reader.end()]) fold.add(event);
  return fold.answer();
}

await test('an answer says the same in every format, whole and as a stream', async () => {
  for (const { name: format, client, provider } of both) {
    fc.assert(
      fc.property(answer, (given) => {
        const whole = client.writeAnswer(given, contextOf(client));
        assert.deepEqual(told(provider.readAnswer(objectOf(parseJson(writeJson(whole))) ?? {})), told(given), format);
        const writer = client.eventWriter(contextOf(client));
        const stream = eventsOf(given)
          .flatMap((event) => [...writer.write(event)])
          .join('');
        assert.deepEqual(told(readBack(stream, provider)), told(given), `${format}, streamed`);
      }),
      runs(600),
    );
  }
});
