// No thinking raises the cap of an answer: budgets are made to fit below it, or thinking is left out and named.
import { test } from 'tap';
import { bedrockTranslation } from '../../../proxy/dialects/bedrock/translate.ts';
import { chatTranslation } from '../../../proxy/dialects/chat/translate.ts';
import type { ConversationRequest, Thinking } from '../../../proxy/dialects/conversation/conversation.ts';
import { budgetWithin } from '../../../proxy/dialects/conversation/thinking-budget.ts';
import { geminiTranslation } from '../../../proxy/dialects/gemini/translate.ts';
import type { JsonObject } from '../../../proxy/dialects/json/json.ts';
import { messagesTranslation } from '../../../proxy/dialects/messages/translate.ts';
import type { ProviderDialect } from '../../../proxy/dialects/translation.ts';
import { leastRequest, recordLosses } from './least-request.ts';

interface Target {
  readonly dialect: ProviderDialect;
  readonly model: string;
  /** The cap and the budget in a body of this dialect. */
  readonly read: (body: JsonObject) => readonly unknown[];
}

type Deep = Readonly<
  Record<string, Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>> | undefined>
>;

const targets: readonly Target[] = [
  {
    dialect: messagesTranslation,
    model: 'claude-sonnet-4-5',
    read: (body) => [body['max_tokens'], (body as Deep)['thinking']?.['budget_tokens']],
  },
  {
    dialect: bedrockTranslation,
    model: 'anthropic.claude-sonnet-4-20250514-v1:0',
    read: (body) => [
      (body as Deep)['inferenceConfig']?.['maxTokens'],
      (body as Deep)['additionalModelRequestFields']?.['thinking']?.['budget_tokens'],
    ],
  },
  {
    dialect: chatTranslation,
    model: 'anthropic/claude-sonnet-4.5',
    read: (body) => [body['max_tokens'], (body as Deep)['reasoning']?.['max_tokens']],
  },
];

function write({ dialect, model, read }: Target, change: Partial<ConversationRequest>) {
  const { losses, hints } = recordLosses();
  const quirks = dialect === chatTranslation ? { thinking: 'reasoning' as const } : {};
  const body = dialect.writeRequest({ ...leastRequest, ...change }, { model, quirks }, losses);
  return { told: read(body), hints };
}

await test('a budget of thoughts stays below the cap of the answer, whichever model is asked', (t) => {
  const budget: Thinking = { mode: 'on', budgetTokens: 20_000 };
  for (const target of targets) {
    const { name } = target.dialect;
    t.same(write(target, { thinking: budget, maxTokens: 30_000 }).told, [30_000, 20_000], `${name}: it fits`);
    t.same(write(target, { thinking: budget, maxTokens: 5000 }).told, [5000, 3976], `${name}: it is lowered`);
    const without = write(target, { thinking: budget, maxTokens: 1000 });
    t.same(without, { told: [1000, undefined], hints: ['reasoning_effort'] }, `${name}: there is no room to think`);
  }
  t.end();
});

await test('an effort that becomes a budget does not raise the cap either', (t) => {
  for (const target of targets.slice(0, 2)) {
    const { name } = target.dialect;
    t.same(write(target, { thinking: { effort: 'high' }, maxTokens: 5000 }).told, [5000, 3976], name);
    const without = write(target, { thinking: { effort: 'low' }, maxTokens: 1000 });
    t.same(without, { told: [1000, undefined], hints: ['reasoning_effort'] }, name);
  }
  t.end();
});

await test('Gemini is told a budget below the cap, or that it shall not think', (t) => {
  const told = (model: string, maxTokens: number): readonly unknown[] => {
    const { losses, hints } = recordLosses();
    const request: ConversationRequest = { ...leastRequest, thinking: { effort: 'high' }, maxTokens };
    const body = geminiTranslation.writeRequest(request, { model, quirks: {} }, losses) as Deep;
    const { maxOutputTokens, thinkingConfig } = body['generationConfig'] ?? {};
    return [maxOutputTokens, thinkingConfig?.['thinkingBudget'], hints];
  };
  t.same(told('gemini-2.5-flash', 30_000), [30_000, 24_576, []]);
  t.same(told('gemini-2.5-flash', 1000), [1000, 500, []]);
  t.same(told('gemini-2.5-flash-lite', 1000), [1000, 0, ['reasoning_effort']]);
  t.same(told('gemini-2.5-pro', 200), [200, 128, ['reasoning_effort']], 'it always thinks');
  t.end();
});

await test('half of a small cap is left for words, and 1024 tokens of a large one', (t) => {
  t.equal(budgetWithin(9000, undefined, 1), 9000);
  t.equal(budgetWithin(9000, 'many', 1), 9000);
  t.equal(budgetWithin(9000, 100, 1), 50);
  t.equal(budgetWithin(9000, 9000, 1), 7976);
  t.equal(budgetWithin(9000, 2047, 1024), undefined);
  t.end();
});
