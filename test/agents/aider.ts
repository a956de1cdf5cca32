// aider has neither tools nor MCP servers: it writes files by blocks of text, and what the second turn needs stands in the words of the first one.
import { join } from 'node:path';
import { must } from '../support/scripted-model/checks.ts';
import { say } from '../support/scripted-model/scenarios.ts';
import type { Agent } from './agent.ts';
import { askedAt, firstText, secretIn, turnText } from './task.ts';

/** A new file as aider reads it in the words of a model. */
function block(path: string, text: string): string {
  return `${path}\n\`\`\`\n<<<<<<< SEARCH\n=======\n${text}\n>>>>>>> REPLACE\n\`\`\``;
}

export const aider: Agent = {
  name: 'aider',
  source: { registry: 'pip', packages: ['aider-chat@0.86.2'] },
  models: ['gpt-5', 'gpt-5-nano'],
  speaks: 'Chat completions',
  hasLedger: false,
  files: () => ({}),
  env: () => ({}),
  command: ({ url, key, installed }, words, isSecond) => {
    const openai = ['--model', 'openai/gpt-5', '--openai-api-base', `${url}/v1`, '--openai-api-key', key];
    const alone = ['--yes-always', '--no-git', '--no-pretty', '--no-check-update', '--no-analytics'];
    const history = isSecond ? ['--restore-chat-history'] : [];
    return [join(installed, 'bin/aider'), ...openai, ...alone, ...history, '--message', words];
  },
  model: (_, { receipt, memory }) => {
    return ({ turns }) => {
      const asked = askedAt(turns);
      must(asked !== -1, 'no task is asked for');
      if (turnText(turns[asked]).includes('Do the first task')) {
        return say({ text: `The receipt is ${receipt}.\n\n${block('first.txt', firstText)}` });
      }
      const said = turns.slice(0, asked).filter(({ role }) => role === 'assistant');
      const last = `${secretIn(said.map(turnText).join('\n'), 'receipt')} ${memory}`;
      return say({ text: `${block('second.txt', last)}\n\nIt is written: ${last}` });
    };
  },
};
