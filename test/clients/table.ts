// Writes what was tried with which version of which client as a page of the documentation.

import { type Agent, versionsOf } from '../agents/agent.ts';
import { agents } from '../agents/agents.ts';
import manifest from '../package.json' with { type: 'json' };
import type { Client } from './client.ts';
import { clients } from './clients.ts';
import { exceptions, exceptionsOf } from './exceptions.ts';
import { providers, type TriedProvider } from './providers.ts';
import { talks } from './talks.ts';
import { type Unsayable, unsayable } from './unsayable.ts';

const versions: Readonly<Record<string, string>> = manifest.devDependencies;
/** Why something is missing, each reason once. */
const reasons = [...new Set(exceptions.map(({ because }) => because))];

/** The page in Markdown. */
export function clientsPage(): string {
  const tried = talks.filter(({ title }) => !title.endsWith(', streamed')).map(({ title }) => title);
  return `${[
    '# Clients and providers',
    'Each client in this table talks through one gateway to a provider of each kind, with the base URL of the gateway and the name of a model as its only settings. A test has these conversations at every change: ' +
      `${tried.join(', ')}; most of them whole and streamed. Providers are scripted servers that refuse what the real ones refuse.`,
    tableOf(['Client', 'Versions', ...providers.map(({ title }) => title)], clients.map(rowOf)),
    '✓: everything works. Numbers name what is missing:',
    reasons.map((because, index) => `${index + 1}. ${because}`).join('\n'),
    'What a client can ask for and a provider cannot be told is refused with 400, code `unsupported_parameter`, and the name of the member: ' +
      `${unsayable.map(sentenceOf).join('; ')}. The setting \`unsupported: drop\` of a provider leaves it out instead.`,
    'Base URLs: clients of OpenAI, LangChain’s included, and both providers of the AI SDK get `http://gateway:8080/v1`; `@anthropic-ai/sdk` and `@langchain/anthropic` get `http://gateway:8080`.',
    '## Coding agents',
    'These agents, as they are published, do a task with providers of each of these kinds: in the first turn they write a file and call an MCP server, in the second one they read it again, ask the server, and write what only the first turn told. ' +
      'They run with a fresh home, with made-up keys and logins, in a network namespace that has only loopback, and set up as [examples/ide-client](../examples/ide-client) says. ' +
      'One that is [logged in to its vendor](../docs/client-subscriptions.md) is tried with that vendor alone, which must get the login and not the key of the gateway. ' +
      'What is checked: the files, the calls of the MCP server, the last words, and that no provider refused a request.',
    tableOf(['Agent', 'Versions', 'Speaks', 'MCP'], agents.map(agentRowOf)),
    'On Linux, `npm run agents` installs them into the cache of the user, runs every agent with every provider, and prints the result of each; `npm run agents -- codex gemini` runs some, `--without aider` leaves some out, and with `--switch 1` the second turn goes to another kind of provider than the first one. It is no part of `npm test`.',
    'This page is written by `WRITE_PAGES=1 node test/clients/table.test.ts`.',
  ].join('\n\n')}\n`;
}

function sentenceOf({ example, providers: those }: Unsayable): string {
  const titles = providers.filter(({ wire }) => those.includes(wire.name)).map(({ title }) => title);
  return `${example} (${titles.join(', ')})`;
}

function agentRowOf({ name, source, speaks, hasLedger }: Agent): readonly string[] {
  return [name, versionsOf(source), speaks, hasLedger ? '✓' : 'has neither tools nor MCP: it edits files by its text'];
}

function rowOf(client: Client): readonly string[] {
  const packages = client.packages.map((name) => `${name} ${versions[name]}`);
  return [client.name, packages.join(', '), ...providers.map((provider) => cellOf(client, provider))];
}

function cellOf(client: Client, provider: TriedProvider): string {
  const missing = exceptionsOf(client, provider).map(({ because }) => reasons.indexOf(because) + 1);
  return missing.length === 0 ? '✓' : `✓ but ${[...new Set(missing)].toSorted((a, b) => a - b).join(', ')}`;
}

/** In Markdown. Columns are as wide as their widest cell, as editors align them. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[], filler = ' '): string => {
    return `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, filler)).join(' | ')} |`;
  };
  const rule = line(
    head.map(() => ''),
    '-',
  );
  return [line(head), rule, ...rows.map((cells) => line(cells))].join('\n');
}
