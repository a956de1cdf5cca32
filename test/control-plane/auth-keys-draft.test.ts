// The bodies of key writes: accepted and refused values of each member; a refusal names the wrong member.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'tap';
import { readAllowedModelsBody, readDraft } from '../../control-plane/admin/auth-keys/read-draft.ts';
import { Refusal } from '../../control-plane/errors.ts';
import { knownModels } from '../../domain/rules/known-models.ts';

const known = knownModels({
  providers: { openai: { models: ['gpt-4o'] }, Local: { models: ['meta/llama'] } },
  aliases: [{ source: 'fast' }, { source: 'team/chat' }, { source: 'eu/*' }],
});
const nowMs = Date.parse('2026-06-01T12:00:00Z');

function refusedBy(body: unknown): Refusal {
  try {
    readDraft(body, known, nowMs);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error(`was accepted: ${JSON.stringify(body)}`);
}

const taken: [given: object, member: string, value: unknown][] = [
  [{ allowed_models: ['eu/*', 'EU/gpt-4o'] }, 'allowedModels', ['eu/*', 'EU/gpt-4o']],
  [{ name: '  a key ' }, 'name', 'a key'],
  [{ name: 'x'.repeat(200) }, 'name', 'x'.repeat(200)],
  [{ name: '😀'.repeat(200) }, 'name', '😀'.repeat(200)],
  [{ description: ' ' }, 'description', undefined],
  [{ description: '😀'.repeat(1000) }, 'description', '😀'.repeat(1000)],
  [{ description: 'two\nlines' }, 'description', 'two\nlines'],
  [{ user_path: '/' }, 'userPath', '/'],
  [{ user_path: 'team//app/' }, 'userPath', '/team/app'],
  [{ user_path: '/Team/e\u0301' }, 'userPath', '/Team/\u00e9'],
  [{ any_user_path: true }, 'anyUserPath', true],
  [{ user_path: '/', any_user_path: false }, 'anyUserPath', false],
  [{}, 'anyUserPath', false],
  [{ labels: [' a', 'a', 'b'] }, 'labels', ['a', 'b']],
  [{ labels: ['😀'.repeat(100)] }, 'labels', ['😀'.repeat(100)]],
  [{}, 'labels', []],
  [{}, 'allowedModels', []],
  [{}, 'role', undefined],
  [{ dashboard_access: true }, 'role', 'admin'],
  [{ dashboard_access: true, role: 'viewer' }, 'role', 'viewer'],
  [{}, 'expiresAtMs', Number.POSITIVE_INFINITY],
  [{ expires_at: '2026-06-01T12:00:00.001Z' }, 'expiresAtMs', nowMs + 1],
  [{ expires_at: '2026-06-01T14:00:01+02:00' }, 'expiresAtMs', nowMs + 1_000],
  [{ expires_in: '90d' }, 'expiresAtMs', nowMs + 90 * 86_400_000],
  [{ expires_in: null }, 'expiresAtMs', Number.POSITIVE_INFINITY],
  [{ expires_at: null }, 'expiresAtMs', Number.POSITIVE_INFINITY],
  [{ expires_at: '9999-12-31T23:59:59.999Z' }, 'expiresAtMs', Date.parse('9999-12-31T23:59:59.999Z')],
];

await test('what is taken, and in which form', async (t) => {
  for (const [given, member, value] of taken)
    t.same(
      readDraft({ name: 'x', ...given }, known, nowMs)[member as keyof ReturnType<typeof readDraft>],
      value,
      JSON.stringify(given),
    );
});

const refused: Record<string, unknown[]> = {
  name: [
    undefined,
    null,
    7,
    '',
    '  ',
    'a\u0000b',
    'a\nb',
    '\u202eb',
    '\ud800',
    'x'.repeat(201),
    '😀'.repeat(201),
    `x${' '.repeat(200)}`,
  ],
  description: [null, 7, 'x'.repeat(1001), '😀'.repeat(1001), ' '.repeat(1001)],
  user_path: [null, 7, '', ' ', '/a/../b', '.', 'a:b', '/a\u200bb', 'x'.repeat(1025), `/${'a/'.repeat(65)}`],
  labels: [
    null,
    'a',
    {},
    [7],
    [''],
    [' '],
    ['a\u0007'],
    ['x'.repeat(101)],
    [`${' '.repeat(100)}x`],
    Array.from({ length: 51 }, String),
  ],
  allowed_models: [
    null,
    'openai/x',
    [7],
    [''],
    ['nobody/x'],
    ['opneai/*'],
    ['/x'],
    ['openai/'],
    ['openai/gpt*'],
    ['*/x'],
    ['**'],
    ['a\tb'],
    ['x'.repeat(321)],
    Array.from({ length: 1001 }, (_, count) => `m${count}`),
  ],
  dashboard_access: [null, 'true', 1, 0],
  expires_at: [
    '',
    'tomorrow',
    '2030-01-01',
    '2030-02-30T00:00:00Z',
    '2030-01-01T00:00:00',
    1_900_000_000,
    '9999-12-31T23:59:59-23:59',
    '2026-06-01T12:00:00Z',
    '2020-01-01T00:00:00Z',
  ],
  expires_in: ['', '8', '0d', '1w', 8, '1000000d'],
  nmae: ['x'],
  digest: ['0'.repeat(64)],
  value: ['sk-gw-mine'],
  id: ['7'],
  enabled: [false],
};

await test('what is refused names its member', async (t) => {
  for (const [param, values] of Object.entries(refused)) {
    for (const value of values) {
      const error = refusedBy({ name: 'x', [param]: value });
      t.match(
        error,
        { status: 400, code: 'invalid_member', param },
        `${param}: ${JSON.stringify(value)?.slice(0, 60)}`,
      );
      t.match(error.message, JSON.stringify(param));
    }
  }
  for (const body of [undefined, null, 7, 'x', []]) t.match(refusedBy(body), { status: 400, code: 'invalid_json' });
});

/** What JSON Schema cannot say portably. */
const beyondSchema = /[\p{C}\p{Zl}\p{Zp}]/u;

await test('the schema takes the same names, descriptions and labels', async (t) => {
  const file = join(import.meta.dirname, '../../schemas/admin/auth-key-write.schema.json');
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
    JSON.parse(readFileSync(file, 'utf8')),
  );
  for (const [given] of taken) t.ok(validate({ name: 'x', ...given }), JSON.stringify(given).slice(0, 60));
  for (const member of ['name', 'description', 'labels']) {
    for (const value of refused[member] ?? []) {
      const text = JSON.stringify(value) ?? 'absent';
      if (!beyondSchema.test(String(value))) t.notOk(validate({ name: 'x', [member]: value }), text.slice(0, 60));
    }
  }
});

await test('a key has a user path or may name any, not both', async (t) => {
  t.match(refusedBy({ name: 'x', user_path: '/', any_user_path: true }), { status: 400, param: 'any_user_path' });
  t.match(refusedBy({ name: 'x', any_user_path: 1 }), { status: 400, param: 'any_user_path' });
});

await test('a misspelled provider and member hear what was meant', async (t) => {
  t.match(refusedBy({ name: 'x', allowed_models: ['opneai/x'] }).message, '"openai"');
  t.match(refusedBy({ name: 'x', lables: [] }).message, '"labels"');
});

await test('models of known providers, bare ids and aliases are entries, letter case aside', async (t) => {
  const entries = ['*', 'openai/*', 'OPENAI/gpt-4o', 'local/meta/llama', 'gpt-4o', 'fast', 'team/chat', 'TEAM/Chat'];
  t.same(readAllowedModelsBody({ allowed_models: entries }, known), entries);
});

await test('texts as long as a body are judged in one pass over them', async (t) => {
  const long = 'a'.repeat(1_000_000);
  for (const text of [`${long}\u0001`, ' '.repeat(1_000_000)]) {
    for (const given of [{ user_path: text }, { labels: [text] }, { allowed_models: [text] }, { name: text }]) {
      const before = process.threadCpuUsage();
      t.match(refusedBy({ name: 'x', ...given }), { status: 400, param: Object.keys(given)[0] ?? '' });
      t.ok(process.threadCpuUsage(before).user < 2_000_000, 'and not for every part of it anew');
    }
  }
});
