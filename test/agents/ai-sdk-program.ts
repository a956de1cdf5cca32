// The program of the agent on the AI SDK: `node ai-sdk-program.ts <messages> <words>` says the words, and keeps the conversation in that file.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ModelMessage, ToolSet } from 'ai';

const [, , kept = '', words = ''] = process.argv;
const { GATEWAY_URL: url = '', GATEWAY_KEY: apiKey = '', INSTALLED: installed = '', LEDGER: ledger = '' } = process.env;

/** The packages as they were installed for this run, beside one another. */
const { resolve } = createRequire(join(installed, 'package.json'));
const load = async <T>(name: string): Promise<T> => (await import(pathToFileURL(resolve(name)).href)) as T;
const { jsonSchema, stepCountIs, streamText, tool } = await load<typeof import('ai')>('ai');
const { createOpenAI } = await load<typeof import('@ai-sdk/openai')>('@ai-sdk/openai');
const { createMCPClient } = await load<Mcp>('@ai-sdk/mcp');
const { Experimental_StdioMCPTransport: StdioTransport } = await load<McpStdio>('@ai-sdk/mcp/mcp-stdio');

interface Mcp {
  createMCPClient(
    this: void,
    options: {
      readonly transport: object;
    },
  ): Promise<{ tools(): Promise<ToolSet>; close(): Promise<void> }>;
}

interface McpStdio {
  readonly Experimental_StdioMCPTransport: new (options: {
    readonly command: string;
    readonly args: string[];
  }) => object;
}

const text = { type: 'string' as const };
const tools = {
  write: tool({
    description: 'Writes a file.',
    inputSchema: jsonSchema<{ path: string; text: string }>({
      type: 'object',
      properties: { path: text, text },
      required: ['path', 'text'],
    }),
    execute: ({ path, text: content }) => {
      writeFileSync(path, content);
      return 'written';
    },
  }),
  read: tool({
    description: 'Reads a file.',
    inputSchema: jsonSchema<{ path: string }>({ type: 'object', properties: { path: text }, required: ['path'] }),
    execute: ({ path }) => readFileSync(path, 'utf8'),
  }),
};

const [command = '', ...args] = JSON.parse(ledger) as string[];
const client = await createMCPClient({ transport: new StdioTransport({ command, args }) });
const messages: ModelMessage[] = existsSync(kept) ? (JSON.parse(readFileSync(kept, 'utf8')) as ModelMessage[]) : [];
messages.push({ role: 'user', content: words });
const told = streamText({
  model: createOpenAI({ baseURL: `${url}/v1`, apiKey })('gpt-5'),
  messages,
  tools: { ...(await client.tools()), ...tools },
  stopWhen: stepCountIs(10),
});
for await (const piece of told.textStream) process.stdout.write(piece);
writeFileSync(kept, JSON.stringify([...messages, ...(await told.responseMessages)]));
await client.close();
