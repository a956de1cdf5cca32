// When Claude refuses to think with a budget: it must see the thoughts that led to the calls whose results it gets.
import { test } from 'tap';
import { claudeBudgetOf, lacksThoughts } from '../../../proxy/dialects/claude/claude-thinking.ts';
import type { Thinking, Turn } from '../../../proxy/dialects/conversation/conversation.ts';
import type { Part } from '../../../proxy/dialects/conversation/parts.ts';

const text: Part = { kind: 'text', text: 'hi' };
const call: Part = { kind: 'tool_call', id: 'a', name: 'f', input: '{}', isFreeText: false };
const result: Part = { kind: 'tool_result', callId: 'a', content: [], isError: false, isFreeText: false };
const thought = (family: 'anthropic' | 'google'): Part => ({
  kind: 'reasoning',
  text: 'hm',
  summary: [],
  signature: { family, value: 's' },
});
const user = (...parts: Part[]): Turn => ({ role: 'user', parts });
const assistant = (...parts: Part[]): Turn => ({ role: 'assistant', parts });

await test('a call without its own signed thoughts forbids a budget, until the user speaks again', (t) => {
  const rows: [lacks: boolean, name: string, turns: Turn[]][] = [
    [false, 'no call', [user(text), assistant(text), user(text)]],
    [true, 'words of the model at the end', [user(text), assistant(text)]],
    [true, 'a call', [user(text), assistant(call), user(result)]],
    [true, 'words beside the result', [user(text), assistant(call), user(result, text)]],
    [true, 'words behind the result', [user(text), assistant(call), user(result), user(text)]],
    [false, 'signed thoughts', [user(text), assistant(thought('anthropic'), call), user(result)]],
    [true, 'thoughts of another family', [user(text), assistant(thought('google'), call), user(result)]],
    [false, 'a later question', [user(text), assistant(call), user(result), assistant(text), user(text)]],
  ];
  for (const [lacks, name, turns] of rows) t.equal(lacksThoughts(turns), lacks, name);
  const asked: Thinking[] = [{}, { effort: 'max' }, { budgetTokens: 9 }];
  t.same(
    asked.map((thinking) => claudeBudgetOf(thinking, undefined)),
    [10_000, 24_000, 1024],
  );
  t.end();
});
