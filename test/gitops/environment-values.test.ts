// Rate limits from environment variables: every form and every mistake is a row, and no message shows a value.
import * as fc from 'fast-check';
import { test } from 'tap';
import { readJson } from '../../gitops/read/read-json.ts';
import { character } from '../support/character.ts';
import { runs } from '../support/extent.ts';
import {
  badValues,
  enforced,
  goodValues,
  limitsOf,
  lines,
  load,
  minuteOf5,
  quoted,
  subjects,
  unpaid,
} from './environment-cases.ts';

await test('a value gives its limits', async (t) => {
  t.strictSame(
    goodValues.map(([claim, value]) => [claim, limitsOf({ SET_RATE_LIMIT_TEAM: value })?.user_paths]),
    goodValues.map(([claim, , limits]) => [claim, [{ path: '/team', per_child: false, limits: enforced(limits) }]]),
  );
  t.match(
    limitsOf({
      SET_RATE_LIMIT_TEAM: `[{${minuteOf5},"mode":"shadow"},{"period":"day","max_tokens":1,"mode":"enforce"}]`,
    })?.user_paths,
    [{ limits: [{ mode: 'shadow' }, { mode: 'enforce' }] }],
    'JSON may ask for a shadow limit',
  );
});

await test('a bad value is named with its place and stops the start', async (t) => {
  const given = badValues.map(([claim, value]) => {
    const { config, problems, warnings } = load({ SET_RATE_LIMIT_TEAM: value });
    const isFatal = config === undefined && problems.every(({ fatal }) => fatal === true);
    return { claim, value: quoted(value), says: lines(problems).sort(), isFatal, warnings };
  });
  const wanted = badValues.map(([claim, value, ...says]) => {
    const named = says.map((line) => `SET_RATE_LIMIT_TEAM:${line}`).sort();
    return { claim, value: quoted(value), says: named, isFatal: true, warnings: [] };
  });
  t.strictSame(given, wanted);
});

await test('the name of a variable is a subject, or a mistake', async (t) => {
  for (const [variable, means] of subjects) {
    const { config, problems } = load({ [variable]: 'rpm=5' });
    const { user_paths = [], providers = [] } = config?.rate_limits ?? {};
    if (typeof means !== 'string') t.match([...user_paths, ...providers], [means], quoted(variable));
    else {
      t.match(problems, [{ file: variable, line: 0, path: '', fatal: true }], quoted(variable));
      t.ok(problems[0]?.message.startsWith(means), `${quoted(variable)}: ${problems[0]?.message}`);
    }
  }
});

await test('a bad name does not hide a bad value', async (t) => {
  t.match(lines(load({ SET_RATE_LIMIT_A___B: 'rpm=x' }).problems), [/that name no path/, /:1:5 .*whole number/]);
});

await test('an empty variable counts as unset', async (t) => {
  const empty = {
    SET_RATE_LIMIT_TEAM: '',
    SET_RATE_LIMIT_A___B: '',
    SET_PROVIDER_RATE_LIMIT_: '',
    RATE_LIMITS_ENABLED: '',
  };
  t.strictSame(load({ ...empty, USAGE_ENABLED: '', SET_RATE_LIMIT: '' }), load({}));
  t.strictSame(load({ SET_RATE_LIMIT_TEAM: undefined }), load({}));
});

await test('a variable that only looks like one of them is worth a warning', async (t) => {
  for (const variable of [
    'SET_RATE_LIMIT',
    'SET_MODEL_RATE_LIMIT_GPT',
    'SET_RATE_LIMITS_TEAM',
    'SET_RATELIMIT_TEAM',
    'set_rate_limit_team',
    'SET_PROVIDERS_RATE_LIMIT_A',
  ]) {
    const { problems, warnings, config } = load({ [variable]: 'rpm=5' });
    t.match(
      { problems, warnings: lines(warnings) },
      { problems: [], warnings: [`${variable}  is not read: `] },
      variable,
    );
    t.match(config?.rate_limits, { user_paths: [], providers: [] }, variable);
  }
  t.strictSame(
    load({ RATE_LIMIT: 'x', MY_SET_RATE_LIMIT_A: 'x', SETTINGS: 'x' }),
    load({}),
    'other variables are not read',
  );
});

await test('two variables for one subject are a mistake that names both', async (t) => {
  t.strictSame(lines(load({ SET_RATE_LIMIT_TEAM: 'rpm=5', SET_RATE_LIMIT_team: 'tpm=5' }).problems), [
    'SET_RATE_LIMIT_team  means the user path "/team", and so does SET_RATE_LIMIT_TEAM; keep one of the two',
  ]);
  t.strictSame(lines(load({ SET_PROVIDER_RATE_LIMIT_A_B: 'rpm=5', 'SET_PROVIDER_RATE_LIMIT_A-B': 'rpm=5' }).problems), [
    'SET_PROVIDER_RATE_LIMIT_A_B  means the provider "a-b", and so does SET_PROVIDER_RATE_LIMIT_A-B; keep one of the two',
  ]);
  t.match(
    load({ SET_RATE_LIMIT_TEAM: 'rpm=5', SET_RATE_LIMIT_team: 'rpm=5' }).problems,
    [{ fatal: true }],
    'even when they say the same',
  );
  t.strictSame(
    load({ SET_RATE_LIMIT_OPENAI: 'rpm=5', SET_PROVIDER_RATE_LIMIT_OPENAI: 'rpm=5' }).problems,
    [],
    'a path and a provider are two subjects',
  );
});

await test('a very long value is judged in no time', async (t) => {
  const before = process.threadCpuUsage();
  for (const value of [',', '"', '[', '[{', '[1,', '[{"a":1},', '[{"a":"', '\n', ' ', '[{"\\"', 'rpm=1,'].map((part) =>
    part.repeat(30_000),
  )) {
    const { problems } = load({ SET_RATE_LIMIT_TEAM: value });
    t.ok(problems.length > 0 && problems.length <= 20, `${quoted(value.slice(0, 12))}: ${problems.length} problems`);
  }
  t.ok(process.threadCpuUsage(before).user < 5_000_000);
});

const canary = 'Zq7-canary';
const anyJson = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1,
    1.5,
    60,
    2 ** 31,
    2 ** 53,
    1e308,
    '',
    'minute',
    'day',
    '10',
    canary,
    [],
    {},
  ),
  fc.integer(),
);
const fineEntry = fc.record(
  {
    period: fc.constantFrom('minute', 'hour', 'day'),
    max_requests: fc.integer({ min: 1 }),
    max_tokens: fc.integer({ min: 1, max: 9 }),
    mode: fc.constantFrom('enforce', 'shadow'),
  },
  { requiredKeys: ['period', 'max_requests'] },
);
const anyEntry = fc.oneof(
  { weight: 9, arbitrary: fineEntry },
  {
    weight: 9,
    arbitrary: fc.record(
      {
        period: fc.oneof(fc.constantFrom<unknown>('minute', 'hour', 'day', 'concurrent'), anyJson),
        period_seconds: fc.oneof(fc.constantFrom<unknown>(60, 300, 3_600), anyJson),
        max_requests: fc.oneof(fc.integer({ min: 1, max: 9 }), anyJson),
        max_tokens: fc.oneof(fc.integer({ min: 1, max: 9 }), anyJson),
        mode: fc.oneof(fc.constantFrom<unknown>('enforce', 'shadow'), anyJson),
        [canary]: anyJson,
      },
      { requiredKeys: [] },
    ),
  },
  anyJson,
);
const piece = fc.oneof(
  fc.constantFrom(
    'rpm',
    'tpm',
    'rpd',
    'concurrent',
    '=',
    ':',
    ',',
    ';',
    '\n',
    ' ',
    '[',
    ']',
    '{',
    '}',
    '"',
    '\\',
    '1',
    '60',
    canary,
    `"${canary}"`,
    '"period"',
    '"day"',
    '\u0000',
    '\ud800',
    '\u202e',
  ),
  fc.string({ unit: character, maxLength: 8 }),
);
const anyValue = fc.oneof(
  fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
  fc.array(anyEntry, { maxLength: 3 }).map((entries) => JSON.stringify(entries)),
  fc
    .array(anyEntry, { maxLength: 3 })
    .map((entries) => JSON.stringify(entries).replaceAll(/[,:]/g, (mark) => `${mark}\n`)),
  fc.string().map((text) => `rpm=${canary}${text}`),
);

await test('no value is thrown about or printed', async () => {
  fc.assert(
    fc.property(anyValue, anyValue, fc.constantFrom('1', canary, ''), (one, two, flag) => {
      const environment = {
        SET_RATE_LIMIT_TEAM: one,
        SET_PROVIDER_RATE_LIMIT_A: two,
        RATE_LIMITS_ENABLED: flag,
        USAGE_ENABLED: flag,
      };
      const { config, problems, warnings } = load(environment, '{}', unpaid);
      const text = lines([...problems, ...warnings]).join('\n');
      const isPlaced = problems.every(({ file: variable, line, column }) => {
        const value = variable === 'SET_RATE_LIMIT_TEAM' ? one : two;
        return variable.endsWith('_ENABLED') || (value.split('\n')[line - 1]?.length ?? -1) >= column - 1;
      });
      return (
        (config === undefined) === problems.length > 0 &&
        !text.includes(canary) &&
        isPlaced &&
        problems.every(({ fatal }) => fatal)
      );
    }),
    runs(4_000),
  );
});

await test('pairs mean what they say', async () => {
  const meanings = {
    rpm: 'minute requests',
    tpm: 'minute tokens',
    rph: 'hour requests',
    tph: 'hour tokens',
    rpd: 'day requests',
    tpd: 'day tokens',
    concurrent: 'concurrent requests',
  };
  const chosen = fc.uniqueArray(
    fc.tuple(fc.constantFrom(...(Object.keys(meanings) as (keyof typeof meanings)[])), fc.integer({ min: 1 })),
    { minLength: 1, selector: ([name]) => name },
  );
  fc.assert(
    fc.property(
      chosen,
      fc.constantFrom(',', ';', '\n', ' , '),
      fc.constantFrom('=', ':', ' = '),
      (list, separator, equals) => {
        const [entry] =
          limitsOf({ SET_RATE_LIMIT_TEAM: list.map(([name, cap]) => `${name}${equals}${cap}`).join(separator) })
            ?.user_paths ?? [];
        const found = (entry?.limits ?? []).flatMap(({ period, max_requests, max_tokens }) => [
          ...(max_requests === undefined ? [] : [`${period} requests ${max_requests}`]),
          ...(max_tokens === undefined ? [] : [`${period} tokens ${max_tokens}`]),
        ]);
        const expected = list.map(([name, cap]) => `${meanings[name]} ${cap}`);
        return found.sort().join() === expected.sort().join();
      },
    ),
    runs(500),
  );
});

await test('JSON in a variable means what the same list means in a file', async (t) => {
  let good = 0;
  fc.assert(
    fc.property(fc.array(anyEntry, { minLength: 1, maxLength: 3 }), (list) => {
      const json = JSON.stringify(list);
      const variable = load({ SET_RATE_LIMIT_TEAM: json });
      const written = load({}, `rate_limits: {user_paths: [{path: /team, limits: ${json}}]}\n`);
      if (written.config !== undefined) good += 1;
      return (
        JSON.stringify(sorted(variable.config?.rate_limits)) === JSON.stringify(sorted(written.config?.rate_limits))
      );
    }),
    runs(1_500),
  );
  t.ok(good > 20, `${good} of them good`);
});

await test('the JSON reader accepts what JSON.parse accepts, but for keys that stand twice', async (t) => {
  const parse = (text: string): unknown => {
    try {
      return { value: JSON.parse(text) as unknown };
    } catch {
      return undefined;
    }
  };
  fc.assert(
    fc.property(fc.oneof(anyValue, fc.json({ maxDepth: 4 })), (text) => {
      const reading = readJson(text);
      const parsed = parse(text);
      if ('problem' in reading) return parsed === undefined || /twice|nested/.test(reading.problem);
      return JSON.stringify({ value: reading.value }) === JSON.stringify(parsed);
    }),
    runs(5_000),
  );
  t.match(readJson('[{"a":1}]'), { value: [{ a: 1 }] });
});

/** The same tree whatever the order of its keys. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = new Map(Object.entries(value));
  return [...entries.keys()].sort().map((key) => [key, sorted(entries.get(key))]);
}
