// An agent of a few lines on the AI SDK with its default options: Responses, stored by the provider, a loop of tools, and MCP.
import { join, resolve } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import type { Agent } from './agent.ts';
import { modelFor, noteCall, recallCall, toolNamed } from './task.ts';

const { ai, '@ai-sdk/openai': openai } = manifest.devDependencies;

export const aiSdk: Agent = {
  name: 'AI SDK, default options',
  source: { registry: 'npm', packages: [`ai@${ai}`, `@ai-sdk/openai@${openai}`, '@ai-sdk/mcp@2.0.99', 'zod@4.6.7'] },
  models: ['gpt-5'],
  speaks: 'Responses',
  hasLedger: true,
  files: () => ({}),
  env: ({ url, key, installed, ledger }) => ({
    GATEWAY_URL: url,
    GATEWAY_KEY: key,
    INSTALLED: installed,
    LEDGER: JSON.stringify(ledger),
  }),
  command: ({ home }, words) => {
    return [process.execPath, resolve(import.meta.dirname, 'ai-sdk-program.ts'), join(home, 'messages.json'), words];
  },
  model: (files) =>
    modelFor(
      {
        writeAndNote: (heard, { first }, text) => [
          { name: toolNamed(heard, 'write'), input: { path: first, text } },
          noteCall(heard),
        ],
        readAndRecall: (heard, { first }) => [
          { name: toolNamed(heard, 'read'), input: { path: first } },
          recallCall(heard),
        ],
        write: (heard, { second }, text) => [{ name: toolNamed(heard, 'write'), input: { path: second, text } }],
      },
      files,
    ),
};
