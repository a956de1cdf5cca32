// Nothing that an operator sends to the control plane, up to the longest that is accepted, holds its event loop for longer than 50 ms.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { masterKey } from '../support/gateway.ts';
import { send } from '../support/measured-gateway.ts';
import { startProcess } from '../support/process.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { createMeter, mostMs, quickestOf } from '../support/turn-meter.ts';

suite.setTimeout(240_000);

const home = temporaryDirectory(suite, 'gateway-admin');
writeFileSync(join(home, 'gateway.yaml'), '{}');
const meter = await createMeter();
const env = { GATEWAY_CONFIG: home, GATEWAY_DATA: home, GATEWAY_MASTER_KEY: masterKey, GATEWAY_ADMIN_PORT: '0' };
const plane = await startProcess({
  t: suite,
  entry: 'control-plane/main.ts',
  execArgv: meter.execArgv,
  env: { ...env, ...meter.env },
});
const port = Number(new URL(plane.address).port);

/** Just within what is read. */
const most = 2 ** 20 - 300;
const json = JSON.stringify;
const times = (text: string, bytes: number): string => text.repeat(Math.floor(bytes / Buffer.byteLength(text)));
const list = <Entry>(length: number, entry: (index: number) => Entry): Entry[] =>
  Array.from({ length }, (_, index) => entry(index));
const paths = json(list(1_000, (index) => `/${'a'.repeat(900)}${index}`));
const names = json(list(1_000, (index) => `chat/${'m'.repeat(100)}${index}`));
const patterns = (one: (index: number) => string): string =>
  json({ name: 'g', regex: { patterns: list(1_000, one), action: 'block' } });

const rows: readonly (readonly [name: string, method: string, path: string, body: () => string])[] = [
  ['guardrails: many patterns', 'PUT', 'guardrails', () => patterns((index) => `a{1,50}b${index}[a-z]+`)],
  ['guardrails: many small patterns', 'PUT', 'guardrails', () => patterns((index) => `x${index}`)],
  ['guardrails: long patterns', 'PUT', 'guardrails', () => patterns((index) => `${'(a|b)?'.repeat(160)}${index}`)],
  ['guardrails: patterns of one large one', 'PUT', 'guardrails', () => patterns(() => '((a{1,30}){1,30}){1,20}')],
  [
    'guardrails: one large pattern',
    'PUT',
    'guardrails',
    () => json({ name: 'g', regex: { patterns: ['(?:[a-z]{1,100}){1,99}'], action: 'block' } }),
  ],
  [
    'guardrails: nested groups',
    'PUT',
    'guardrails',
    () => json({ name: 'g', regex: { patterns: ['('.repeat(900) + ')'.repeat(900)], action: 'block' } }),
  ],
  [
    'guardrails: classes of letters',
    'PUT',
    'guardrails',
    () => patterns(() => '(?i)\\p{L}\\p{Lu}\\p{Greek}[^\\p{L}]'.repeat(10)),
  ],
  [
    'guardrails: many words',
    'PUT',
    'guardrails',
    () =>
      json({
        name: 'g',
        keywords: { words: list(20_000, (index) => `word ${'a'.repeat(30)} ${index}`), action: 'block' },
      }),
  ],
  [
    'guardrails: long words',
    'PUT',
    'guardrails',
    () =>
      json({ name: 'g', keywords: { words: list(4_000, (index) => `${index} ${'aB'.repeat(120)}`), action: 'block' } }),
  ],
  [
    'guardrails: a long prompt',
    'PUT',
    'guardrails',
    () => json({ name: 'g', system_prompt: { text: 'a'.repeat(99_000) } }),
  ],
  [
    'guardrails: many user paths',
    'PUT',
    'guardrails',
    () => `{"name":"g","user_paths":${paths},"pii":{"action":"mask"}}`,
  ],
  [
    'guardrails: a schema',
    'PUT',
    'guardrails',
    () =>
      `{"name":"g","schema":{"schema":{"type":"object","properties":{${list(20_000, (index) => `"p${index}":{"type":"string"}`).join(',')}}}}}`,
  ],
  [
    'guardrails: a schema of patterns',
    'PUT',
    'guardrails',
    () =>
      `{"name":"g","schema":{"schema":{"type":"object","patternProperties":{${list(20_000, (index) => `"p${index}":{"type":"string"}`).join(',')}}}}}`,
  ],
  [
    'guardrails: a schema of alternatives',
    'PUT',
    'guardrails',
    () => `{"name":"g","schema":{"schema":{"anyOf":[${list(20_000, (index) => `{"enum":["${index}"]}`).join(',')}]}}}`,
  ],
  [
    'guardrails: a deep schema',
    'PUT',
    'guardrails',
    () => `{"name":"g","schema":{"schema":${'{"not":'.repeat(5_000)}{}${'}'.repeat(5_000)}}}`,
  ],
  [
    'guardrails: a trial of a long text',
    'POST',
    'guardrails/test',
    () => json({ text: 'mail me at a@example.com '.repeat(40_000) }),
  ],
  ['aliases: many targets', 'PUT', 'virtual-models', () => `{"source":"s","targets":${names}}`],
  [
    'aliases: more targets',
    'PUT',
    'virtual-models',
    () => `{"source":"s","targets":[${list(20_000, (index) => `{"model":"chat/m${index}"}`).join(',')}]}`,
  ],
  [
    'keys: many labels',
    'POST',
    'auth-keys',
    () => `{"name":"k","user_path":"/a","labels":[${list(60_000, (index) => `"l${index}"`).join(',')}]}`,
  ],
  ['keys: many models', 'POST', 'auth-keys', () => `{"name":"k","user_path":"/a","allowed_models":${names}}`],
  ['keys: a long name', 'POST', 'auth-keys', () => `{"name":"${times('a', most)}"}`],
  [
    'rules: a long path',
    'PUT',
    'rate-limits',
    () => `{"user_path":"${times('/a', most)}","limit_key":{"period":"day"},"max_requests":1}`,
  ],
  [
    'rules: many',
    'PUT',
    'rate-limits',
    () => `{"user_path":"/a","models":${names},"limit_key":{"period":"day"},"max_requests":1}`,
  ],
  ['budgets: many', 'PUT', 'budgets', () => `{"user_path":"/a","models":${names},"period":"day","amount":1}`],
  ['any door: many members', 'PUT', 'virtual-models', () => `{${list(60_000, (index) => `"m${index}":1`).join(',')}}`],
  ['any door: many numbers', 'PUT', 'virtual-models', () => `{"x":[${times('1,', most - 200)}1]}`],
  ['any door: a body that only opens', 'PUT', 'virtual-models', () => times('{"a":', most)],
  ['any door: escapes', 'PUT', 'virtual-models', () => `{"name":"${times('\\u00e4', most)}"}`],
  ['any door: what looks like keys', 'PUT', 'virtual-models', () => `{"name":"${times('sk-gw-', most)}"}`],
];

for (const [name, method, path, body] of rows) {
  await test(name, async (t) => {
    const sent = { path: `/admin/${path}`, method, body: body() };
    t.ok(sent.body.length <= 2 ** 20, `${sent.body.length}`);
    const { status, longestMs } = await quickestOf(() => meter.during(() => send(port, sent)));
    t.ok(longestMs < mostMs, `${longestMs.toFixed(0)} ms, answered ${status}`);
    t.ok(status > 0 && status !== 500, `answered ${status}`);
  });
}
