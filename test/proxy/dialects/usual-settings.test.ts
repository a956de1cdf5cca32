// What asks for nothing, or for what is usual, is no loss: no target refuses it, and no client is told that it was left out.
import { test } from 'tap';
import { bedrockTranslation } from '../../../proxy/dialects/bedrock/translate.ts';
import { chatTranslation } from '../../../proxy/dialects/chat/translate.ts';
import type { ConversationRequest } from '../../../proxy/dialects/conversation/conversation.ts';
import { geminiTranslation } from '../../../proxy/dialects/gemini/translate.ts';
import { messagesTranslation } from '../../../proxy/dialects/messages/translate.ts';
import type { Quirks } from '../../../proxy/dialects/quirks.ts';
import { responsesTranslation } from '../../../proxy/dialects/responses/translate.ts';
import type { ProviderDialect } from '../../../proxy/dialects/translation.ts';
import { leastRequest, recordLosses } from './least-request.ts';

/** A server that takes as little as any. */
const bare: Quirks = { without: ['logit_bias', 'presence_penalty', 'frequency_penalty', 'metadata', 'service_tier'] };
const targets: readonly (readonly [ProviderDialect, string, Quirks])[] = [
  [bedrockTranslation, 'anthropic.claude-sonnet-4-5-20250929-v1:0', {}],
  [bedrockTranslation, 'amazon.nova-lite-v1:0', {}],
  [messagesTranslation, 'claude-sonnet-4-5', {}],
  [geminiTranslation, 'gemini-2.5-flash', {}],
  [chatTranslation, 'm', bare],
  [responsesTranslation, 'm', {}],
];

function write([dialect, model, quirks]: (typeof targets)[number], change: Partial<ConversationRequest>) {
  const { losses, hints, meanings } = recordLosses();
  const request: ConversationRequest = { ...leastRequest, dialect: 'completions', ...change };
  const body: unknown = JSON.parse(JSON.stringify(dialect.writeRequest(request, { model, quirks }, losses)));
  return { body, told: [...hints, ...meanings] };
}

await test('what is empty or usual is not told, and written to none that refuses it', (t) => {
  const usual: Partial<ConversationRequest> = {
    sampling: { logitBias: {}, presencePenalty: 0, frequencyPenalty: 0, temperature: 1 },
    stop: [''],
    verbosity: 'medium',
  };
  const labels: Partial<ConversationRequest> = { metadata: {}, serviceTier: 'auto', user: '' };
  for (const target of targets) {
    const name = `${target[0].name} ${target[1]}`;
    const { body, told } = write(target, usual);
    t.same(told, [], name);
    t.notMatch(JSON.stringify(body), /bias|stop|enalty/, name);
    t.same(write(target, labels).told, [], name);
  }
  t.end();
});

await test('a tool that must be called, of which there is none, is told', (t) => {
  for (const target of targets) {
    const forced = write(target, { toolChoice: { kind: 'required' } });
    t.same(forced, { ...write(target, {}), told: ['tool_choice'] }, target[0].name);
    t.same(write(target, { toolChoice: { kind: 'auto' } }).told, [], target[0].name);
  }
  t.end();
});

await test('Bedrock gets no temperature above 1, and Claude no blanks to stop at', (t) => {
  const [claude, nova] = targets as [(typeof targets)[number], (typeof targets)[number]];
  t.match(write(claude, { sampling: { temperature: 1.5 } }), {
    body: { inferenceConfig: { temperature: 1 } },
    told: ['temperature'],
  });
  t.match(write(claude, { stop: [' ', 'END'] }), {
    body: { inferenceConfig: { stopSequences: ['END'] } },
    told: ['stop: it does not stop at blanks'],
  });
  t.match(write(nova, { stop: [' '] }), { body: { inferenceConfig: { stopSequences: [' '] } }, told: [] });
  t.end();
});

await test('the words with which the model of Bedrock shall begin end with no blank', (t) => {
  const turns: ConversationRequest['turns'] = [
    { role: 'user', parts: [{ kind: 'text', text: 'go' }] },
    { role: 'assistant', parts: [{ kind: 'text', text: 'Sure: \n' }] },
  ];
  for (const target of targets.slice(0, 2)) {
    t.match(write(target, { turns }).body, { messages: [{}, { content: [{ text: 'Sure:' }] }] }, target[1]);
    const { body } = write(target, { turns: [...turns, { role: 'user', parts: [{ kind: 'text', text: 'on' }] }] });
    t.match(body, { messages: [{}, { content: [{ text: 'Sure: \n' }] }, {}] }, 'elsewhere they stay');
  }
  t.end();
});
