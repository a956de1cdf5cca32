// The agents that are tried, each set up as examples/ide-client tells users.
import { join } from 'node:path';
import type { Heard } from '../support/scripted-model/heard.ts';
import type { Call } from '../support/scripted-model/scenarios.ts';
import type { Agent, Workplace } from './agent.ts';
import { aiSdk } from './ai-sdk.ts';
import { aider } from './aider.ts';
import { type Hands, modelFor, noteCall, recallCall, toolNamed } from './task.ts';

const program = ({ installed }: Workplace, name: string): string => join(installed, 'node_modules/.bin', name);
const offersLedger = (heard: Heard): boolean => heard.tools.some((name) => /[._]note$/.test(name));
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const shellWrite = (path: string, text: string): string => `printf %s ${quoted(text)} > ${quoted(path)}`;

/** Of agents with a tool that runs commands, whose only text has this name. */
function shellHands(tool: string, member: string): Hands {
  const run = (heard: Heard, command: string): Call => ({ name: toolNamed(heard, tool), input: { [member]: command } });
  return {
    writeAndNote: (heard, { first }, text) => [run(heard, shellWrite(first, text)), noteCall(heard)],
    readAndRecall: (heard, { first }) => [run(heard, `cat ${quoted(first)}`), recallCall(heard)],
    write: (heard, { second }, text) => [run(heard, shellWrite(second, text))],
  };
}

const patchHands: Hands = {
  ...shellHands('exec_command', 'cmd'),
  search: (heard) => {
    return offersLedger(heard)
      ? []
      : [{ name: toolNamed(heard, 'tool_search'), input: { query: 'ledger note recall' } }];
  },
  writeAndNote: (heard, { first }, text) => [patch(heard, first, text), noteCall(heard)],
  write: (heard, { second }, text) => [patch(heard, second, text)],
};

function patch(heard: Heard, path: string, text: string): Call {
  const input = `*** Begin Patch\n*** Add File: ${path}\n+${text}\n*** End Patch\n`;
  return { name: toolNamed(heard, 'apply_patch'), input: { input } };
}

/** A program in JavaScript is the only tool; it calls the others. */
const scriptHands: Hands = {
  writeAndNote: (heard, { first }, text) => {
    return script(heard, [
      runs(shellWrite(first, text)),
      `text(await tools.mcp__ledger__note({ text: 'first.txt is written' }));`,
    ]);
  },
  readAndRecall: (heard, { first }) =>
    script(heard, [runs(`cat ${quoted(first)}`), 'text(await tools.mcp__ledger__recall({}));']),
  write: (heard, { second }, text) => script(heard, [runs(shellWrite(second, text))]),
};

const runs = (cmd: string): string => `text(await tools.exec_command(${JSON.stringify({ cmd })}));`;

function script(heard: Heard, lines: readonly string[]): readonly Call[] {
  return [{ name: toolNamed(heard, 'exec'), input: { input: lines.join('\n') } }];
}

const codexSource: Agent['source'] = { registry: 'npm', packages: ['@openai/codex@0.171.0'] };

/** Codex knows some models by name, and offers each of them other kinds of tools. */
function codex(model: string, offers: string, hands: Hands): Agent {
  return {
    name: `Codex, ${model}: ${offers}`,
    source: codexSource,
    models: [model],
    speaks: 'Responses',
    hasLedger: true,
    files: ({ url, ledger: [command, ...args] }) => ({
      '.codex/config.toml': `model = "${model}"
model_provider = "gateway"

[model_providers.gateway]
name = "Model gateway"
base_url = "${url}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"

[mcp_servers.ledger]
command = ${JSON.stringify(command)}
args = ${JSON.stringify(args)}
`,
    }),
    env: ({ key }) => ({ GATEWAY_KEY: key }),
    command: (place, words, isSecond) => [
      program(place, 'codex'),
      'exec',
      ...(isSecond ? ['resume', '--last'] : []),
      '--skip-git-repo-check',
      '--dangerously-bypass-approvals-and-sandbox',
      words,
    ],
    model: (files) => modelFor(hands, files),
  };
}

const claudeSource: Agent['source'] = { registry: 'npm', packages: ['@anthropic-ai/claude-code@2.1.332'] };

/** Claude Code knows what each model takes, and speaks to it so. */
const claudeCode = (model: string): Agent => ({
  name: `Claude Code, ${model}`,
  source: claudeSource,
  models: [model, 'claude-haiku-4-5-20251001'],
  speaks: 'Anthropic Messages',
  hasLedger: true,
  files: ({ ledger: [command, ...args] }) => ({
    'mcp.json': JSON.stringify({ mcpServers: { ledger: { command, args } } }),
  }),
  env: ({ url, key }) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: 'claude-haiku-4-5-20251001',
  }),
  command: (place, words, isSecond) => [
    program(place, 'claude'),
    '--print',
    words,
    ...(isSecond ? ['--continue'] : []),
    '--mcp-config',
    join(place.home, 'mcp.json'),
    '--allowed-tools',
    'Read,Write,mcp__ledger',
  ],
  model: (files) => modelFor(claudeHands, files),
});

const claudeHands: Hands = {
  search: (heard) => {
    if (offersLedger(heard)) return [];
    return [{ name: toolNamed(heard, 'ToolSearch'), input: { query: 'select:mcp__ledger__note,mcp__ledger__recall' } }];
  },
  writeAndNote: (heard, { first }, text) => [claudeWrite(heard, first, text), noteCall(heard)],
  readAndRecall: (heard, { first }) => [
    { name: toolNamed(heard, 'Read'), input: { file_path: first } },
    recallCall(heard),
  ],
  write: (heard, { second }, text) => [claudeWrite(heard, second, text)],
};

function claudeWrite(heard: Heard, path: string, content: string): Call {
  return { name: toolNamed(heard, 'Write'), input: { file_path: path, content } };
}

const opencode: Agent = {
  name: 'opencode',
  source: { registry: 'npm', packages: ['opencode-ai@1.18.33'] },
  models: ['gpt-5'],
  speaks: 'Chat completions',
  hasLedger: true,
  files: ({ url, ledger }) => ({
    '.config/opencode/opencode.json': JSON.stringify({
      $schema: 'https://opencode.ai/config.json',
      provider: {
        gateway: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: `${url}/v1`, apiKey: '{env:GATEWAY_KEY}' },
          models: { 'gpt-5': {} },
        },
      },
      mcp: { ledger: { type: 'local', command: ledger } },
    }),
  }),
  env: ({ key }) => ({ GATEWAY_KEY: key }),
  command: (place, words, isSecond) => {
    return [program(place, 'opencode'), 'run', '--model', 'gateway/gpt-5', ...(isSecond ? ['--continue'] : []), words];
  },
  model: (files) => modelFor(shellHands('bash', 'command'), files),
};

/** A token as vendors issue them, which no one checks the signature of. */
const tokenOf = (claims: object): string =>
  `${[{ alg: 'none' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.c2ln`;
const codexLogin = tokenOf({ exp: 4_102_444_800, sub: 'ann' });
const account = { chatgpt_account_id: 'account-of-ann', chatgpt_plan_type: 'pro', chatgpt_user_id: 'user-ann' };

/** As it is when its user has logged in with ChatGPT. */
const loggedInCodex: Agent = {
  ...codex('gpt-5', 'functions and namespaces', shellHands('exec_command', 'cmd')),
  name: 'Codex, logged in with ChatGPT',
  login: codexLogin,
  files: ({ url, ledger: [command, ...args] }) => ({
    '.codex/auth.json': JSON.stringify({
      OPENAI_API_KEY: null,
      auth_mode: 'chatgpt',
      last_refresh: new Date().toISOString(),
      tokens: {
        id_token: tokenOf({ email: 'ann@example.com', 'https://api.openai.com/auth': account }),
        access_token: codexLogin,
        refresh_token: 'refresh-of-ann',
        account_id: account.chatgpt_account_id,
      },
    }),
    '.codex/config.toml': `model = "gpt-5"
model_provider = "gateway"

[model_providers.gateway]
name = "Model gateway"
base_url = "${url}/v1"
wire_api = "responses"
requires_openai_auth = true
env_http_headers = { "X-Gateway-Key" = "GATEWAY_KEY" }

[mcp_servers.ledger]
command = ${JSON.stringify(command)}
args = ${JSON.stringify(args)}
`,
  }),
};

const claudeLogin = 'sk-ant-oat01-login-of-ann-0123456789';
const plainClaude = claudeCode('claude-sonnet-4-5');

/** As it is when its user has logged in with a subscription. */
const loggedInClaude: Agent = {
  ...plainClaude,
  name: 'Claude Code, logged in with a subscription',
  login: claudeLogin,
  env(place) {
    const { ANTHROPIC_AUTH_TOKEN: key, ...others } = plainClaude.env(place);
    return { ...others, CLAUDE_CODE_OAUTH_TOKEN: claudeLogin, ANTHROPIC_CUSTOM_HEADERS: `X-Gateway-Key: ${key}` };
  },
};

export const agents: readonly Agent[] = [
  codex('gpt-5', 'functions and namespaces', shellHands('exec_command', 'cmd')),
  codex('gpt-5.5', 'patches and a search of tools', patchHands),
  codex('gpt-6.2-sol', 'scripts', scriptHands),
  claudeCode('claude-sonnet-4-5'),
  claudeCode('claude-opus-5-5'),
  loggedInCodex,
  loggedInClaude,
  opencode,
  aider,
  aiSdk,
];
