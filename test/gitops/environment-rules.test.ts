// Rate limits from environment variables: every form and every mistake is a row; messages never show a value; variables override the files.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { test } from 'tap';
import { checkConfig } from '../../gitops/check.ts';
import { checkRateLimits } from '../../gitops/check-rate-limits.ts';
import { ConfigRejected } from '../../gitops/config-rejected.ts';
import type { ConfigEvent } from '../../gitops/config-status.ts';
import { type FollowOptions, followConfig } from '../../gitops/follow.ts';
import { type Loaded, loadFiles } from '../../gitops/load.ts';
import { loadOffThread } from '../../gitops/load-off-thread.ts';
import { formatProblem, type Problem, problemOfFile } from '../../gitops/problem.ts';
import type { SourceFile } from '../../gitops/read.ts';
import { readJson } from '../../gitops/read-json.ts';
import { readEnvironment } from '../../proxy/environment.ts';
import type { Limit, RateLimits } from '../../schemas/types.ts';
import { runs } from '../support/extent.ts';
import { waitFor } from '../support/wait-for.ts';

type Variables = Record<string, string | undefined>;

const file = (text: string): SourceFile => ({ name: 'a.yaml', path: 'a.yaml', bytes: Buffer.from(text) });
const paid = new Set(['quota_templates']);
const unpaid = new Set<string>();

const load = (environment: Variables, yaml = '{}', entitlements: ReadonlySet<string> = paid): Loaded =>
  loadFiles([file(yaml)], { environment, variables: 'error', entitlements });
const lines = (problems: readonly Problem[]): string[] => problems.map(formatProblem);
const limitsOf = (environment: Variables, yaml?: string): RateLimits | undefined => {
  const { config, problems } = load(environment, yaml);
  if (config === undefined) throw new Error(lines(problems).join('\n'));
  return config.rate_limits;
};
const enforced = (limits: Partial<Limit>[]): unknown[] => limits.map((limit) => ({ ...limit, mode: 'enforce' }));
const quoted = (text: string): string => JSON.stringify(text.length > 90 ? `${text.slice(0, 90)}…` : text);

const known = 'known are rpm, tpm, rph, tph, rpd, tpd and concurrent';
const pairs = 'write pairs such as rpm=60,tpm=100000';
const number = 'needs a whole number from 1 to 9007199254740991 after';
const onePeriod = 'a limit has exactly one of period (minute, hour, day, concurrent) and period_seconds';
const minuteOf5 = '"period":"minute","max_requests":5';

const goodValues: [claim: string, value: string, limits: Partial<Limit>[]][] = [
  ['requests a minute', 'rpm=60', [{ period: 'minute', max_requests: 60 }]],
  ['tokens a minute', 'tpm=60', [{ period: 'minute', max_tokens: 60 }]],
  ['requests an hour', 'rph=60', [{ period: 'hour', max_requests: 60 }]],
  ['tokens an hour', 'tph=60', [{ period: 'hour', max_tokens: 60 }]],
  ['requests a day', 'rpd=60', [{ period: 'day', max_requests: 60 }]],
  ['tokens a day', 'tpd=60', [{ period: 'day', max_tokens: 60 }]],
  ['requests in flight', 'concurrent=60', [{ period: 'concurrent', max_requests: 60 }]],
  ['requests in flight, the longer word', 'concurrency=60', [{ period: 'concurrent', max_requests: 60 }]],
  ['both caps of a period are one limit', 'rpm=5,tpm=7', [{ period: 'minute', max_requests: 5, max_tokens: 7 }]],
  [
    'caps of one period find together whatever stands between',
    'tpd=1,rpm=5,rpd=2,concurrent=3',
    [
      { period: 'day', max_requests: 2, max_tokens: 1 },
      { period: 'minute', max_requests: 5 },
      { period: 'concurrent', max_requests: 3 },
    ],
  ],
  ['blanks around everything', ' \trpm = 5 , tpm = 7 \n', [{ period: 'minute', max_requests: 5, max_tokens: 7 }]],
  ['semicolons', 'rpm=5;tpm=7', [{ period: 'minute', max_requests: 5, max_tokens: 7 }]],
  ['a pair a line', 'rpm=5\r\ntpm=7\r\n', [{ period: 'minute', max_requests: 5, max_tokens: 7 }]],
  ['colons', 'rpm:5,tpm: 7', [{ period: 'minute', max_requests: 5, max_tokens: 7 }]],
  ['names in any case', 'RPM=5,Tpm=7', [{ period: 'minute', max_requests: 5, max_tokens: 7 }]],
  ['the smallest cap', 'rpm=1', [{ period: 'minute', max_requests: 1 }]],
  ['the largest cap', 'rpm=9007199254740991', [{ period: 'minute', max_requests: 9007199254740991 }]],
  ['JSON with a named period', `[{${minuteOf5}}]`, [{ period: 'minute', max_requests: 5 }]],
  ['JSON with both caps', `[{${minuteOf5},"max_tokens":7}]`, [{ period: 'minute', max_requests: 5, max_tokens: 7 }]],
  ['JSON with a custom window', '[{"period_seconds":300,"max_tokens":5}]', [{ period_seconds: 300, max_tokens: 5 }]],
  ['JSON with blanks', ` [ { "period" : "hour" ,\n "max_tokens" : 5 } ]\n`, [{ period: 'hour', max_tokens: 5 }]],
  ['JSON escapes are characters', '[{"\\u0070eriod":"da\\u0079","max_tokens":5}]', [{ period: 'day', max_tokens: 5 }]],
  ['JSON per_child false says nothing', `[{${minuteOf5},"per_child":false}]`, [{ period: 'minute', max_requests: 5 }]],
];

await test('a value gives its limits', async (t) => {
  for (const [claim, value, limits] of goodValues) {
    t.strictSame(
      limitsOf({ SET_RATE_LIMIT_TEAM: value })?.user_paths,
      [{ path: '/team', per_child: false, limits: enforced(limits) }],
      `${claim}: ${quoted(value)}`,
    );
  }
  t.match(
    limitsOf({
      SET_RATE_LIMIT_TEAM: `[{${minuteOf5},"mode":"shadow"},{"period":"day","max_tokens":1,"mode":"enforce"}]`,
    })?.user_paths,
    [{ limits: [{ mode: 'shadow' }, { mode: 'enforce' }] }],
    'JSON may ask for a shadow limit',
  );
});

const badValues: [claim: string, value: string, ...says: string[]][] = [
  ['no number', 'rpm=', `1:5  ${number} rpm=`],
  ['no number, a blank instead', 'rpm= ,tpm=1', `1:5  ${number} rpm=`],
  ['a name alone', 'rpm', `1:1  is not a pair of a name and a number; ${pairs}`],
  ['a number alone', '60', `1:1  is not a pair of a name and a number; ${pairs}`],
  ['no name', '=5', `1:1  lacks a name; ${known}`],
  ['text for a number', 'rpm=abc', `1:5  ${number} rpm=`],
  ['a negative number', 'rpm=-1', `1:5  ${number} rpm=`],
  ['zero', 'rpm=0', `1:5  ${number} rpm=`],
  ['a fraction', 'rpm=1.5', `1:5  ${number} rpm=`],
  ['an exponent', 'rpm=1e3', `1:5  ${number} rpm=`],
  ['a plus sign', 'rpm=+5', `1:5  ${number} rpm=`],
  ['a leading zero', 'rpm=010', `1:5  ${number} rpm=`],
  ['a hexadecimal number', 'rpm=0x10', `1:5  ${number} rpm=`],
  ['separated thousands', 'rpm=1_000', `1:5  ${number} rpm=`],
  ['a unit', 'rpm=60/min', `1:5  ${number} rpm=`],
  ['digits of another script', 'rpm=٦٠', `1:5  ${number} rpm=`],
  ['one more than the largest cap', 'rpm=9007199254740992', `1:5  ${number} rpm=`],
  ['far more than the largest cap', `rpm=${'9'.repeat(400)}`, `1:5  ${number} rpm=`],
  ['two equals signs', 'rpm==5', `1:5  ${number} rpm=`],
  ['a name twice', 'rpm=1,rpm=2', '1:7  gives rpm a second time'],
  ['a cap twice under two names', 'concurrent=1,concurrency=2', '1:14  gives concurrency a second time'],
  ['a name twice in two cases', 'rpm=1,RPM=2', '1:7  gives RPM a second time'],
  ['an unknown name', 'rpm=1,rps=5', `1:7  has an unknown name; ${known}`],
  ['the name of an object member', 'constructor=5', `1:1  has an unknown name; ${known}`],
  ['a JSON word as a name', '"rpm"=5', `1:1  has an unknown name; ${known}`],
  ['only separators', ',', ...[1, 2].map((at) => `1:${at}  has nothing between two separators; ${pairs}`)],
  ['two separators in a row', 'rpm=5,,tpm=7', `1:7  has nothing between two separators; ${pairs}`],
  ['a blank between separators', 'rpm=5, ,tpm=7', `1:8  has nothing between two separators; ${pairs}`],
  ['a separator at the end', 'rpm=5,', `1:7  has nothing between two separators; ${pairs}`],
  ['a separator at the beginning', ';rpm=5', `1:1  has nothing between two separators; ${pairs}`],
  ['blanks', ' \t\n', `1:1  is blank; ${pairs}`],
  ['a mistake in the second line', 'rpm=5\n  tpm=x', `2:7  ${number} tpm=`],
  ['every mistake at once', 'rpm=x,foo=1', `1:5  ${number} rpm=`, `1:7  has an unknown name; ${known}`],
  ['an open bracket', '[', '1:2  ends too early: a bracket is not closed'],
  ['an open limit', '[{"period":"day"', '1:17  ends too early: a bracket is not closed'],
  ['a JSON object', '{}', '1:1  must be a list of limits: [{"period":"minute","max_requests":60}]'],
  [
    'a JSON limit without its list',
    ` {${minuteOf5}}`,
    '1:2  must be a list of limits: [{"period":"minute","max_requests":60}]',
  ],
  [
    'an empty list',
    '[]',
    '1:1  must have at least one entry, found an empty list; for example [{"period":"minute","max_requests":60}]',
  ],
  ['a number in the list', '[1]', '1:2  [0]  must be a mapping of keys to values, found a number'],
  ['a list in the list', `[[{${minuteOf5}}]]`, '1:2  [0]  must be a mapping of keys to values, found a list'],
  [
    'nothing in the list',
    '[null]',
    '1:2  [0]  must be a mapping of keys to values, found nothing (null); give it a value or remove the key',
  ],
  [
    'an unknown period',
    '[{"period":"minutes","max_tokens":1}]',
    '1:12  [0].period  must be one of minute, hour, day, concurrent, found a string; did you mean "minute"?',
  ],
  [
    'a period in upper case',
    '[{"period":"Minute","max_tokens":1}]',
    '1:12  [0].period  must be one of minute, hour, day, concurrent, found a string; did you mean "minute"?',
  ],
  ['both periods', `[{${minuteOf5},"period_seconds":60}]`, `1:2  [0]  ${onePeriod}`],
  ['no period', '[{"max_requests":5}]', `1:2  [0]  ${onePeriod}`],
  ['a period of no seconds', '[{"period_seconds":0,"max_tokens":1}]', '1:20  [0].period_seconds  must be at least 1'],
  ['a negative period', '[{"period_seconds":-5,"max_tokens":1}]', '1:20  [0].period_seconds  must be at least 1'],
  [
    'half a second',
    '[{"period_seconds":0.5,"max_tokens":1}]',
    '1:20  [0].period_seconds  must be a whole number, found another number',
  ],
  [
    'a period too long',
    '[{"period_seconds":2147483648,"max_tokens":1}]',
    '1:20  [0].period_seconds  must be at most 2147483647',
  ],
  ['no caps', '[{"period":"day"}]', '1:2  [0]  a limit needs max_requests, max_tokens or both'],
  [
    'concurrent with tokens',
    '[{"period":"concurrent","max_requests":5,"max_tokens":1}]',
    '1:2  [0]  a concurrent limit counts requests in flight: it takes max_requests only, not max_tokens',
  ],
  ['a cap of zero', '[{"period":"day","max_requests":0}]', '1:33  [0].max_requests  must be at least 1'],
  ['a negative cap', '[{"period":"day","max_requests":-1}]', '1:33  [0].max_requests  must be at least 1'],
  [
    'a cap that is a fraction',
    '[{"period":"day","max_requests":1.5}]',
    '1:33  [0].max_requests  must be a whole number, found another number',
  ],
  [
    'a quoted cap',
    '[{"period":"day","max_requests":"10"}]',
    '1:33  [0].max_requests  must be a whole number, found a string; write plain digits without quotes or separators',
  ],
  [
    'a cap that is true',
    '[{"period":"day","max_requests":true}]',
    '1:33  [0].max_requests  must be a whole number, found a boolean',
  ],
  [
    'a cap that is a list',
    '[{"period":"day","max_requests":[5]}]',
    '1:33  [0].max_requests  must be a whole number, found a list',
  ],
  [
    'a cap that is null',
    '[{"period":"day","max_requests":null}]',
    '1:33  [0].max_requests  must be a whole number, found nothing (null); give it a value or remove the key',
  ],
  [
    'a cap too large',
    '[{"period":"day","max_requests":9007199254740992}]',
    '1:33  [0].max_requests  must be at most 9007199254740991',
  ],
  [
    'a cap beyond numbers',
    '[{"period":"day","max_requests":1e400}]',
    '1:33  [0].max_requests  must be a whole number, found another number',
  ],
  [
    'an unknown mode',
    `[{${minuteOf5},"mode":"off"}]`,
    '1:45  [0].mode  must be one of enforce, shadow, found a string',
  ],
  [
    'per_child that is text',
    `[{${minuteOf5},"per_child":"yes"}]`,
    '1:50  [0].per_child  must be true or false, found a string; write true',
  ],
  ['a misspelled key', `[{${minuteOf5},"max_token":5}]`, '1:38  [0]  has an unknown key; did you mean "max_tokens"?'],
  [
    'an unknown key',
    `[{${minuteOf5},"burst":5}]`,
    '1:38  [0]  has an unknown key; known here: period, period_seconds, max_requests, max_tokens, mode, per_child',
  ],
  [
    'a key other objects have',
    `[{${minuteOf5},"__proto__":5}]`,
    '1:38  [0]  has an unknown key; known here: period, period_seconds, max_requests, max_tokens, mode, per_child',
  ],
  [
    'the words of the compact form in JSON',
    '[{"rpm":5}]',
    '1:3  [0]  has an unknown key; known here: period, period_seconds, max_requests, max_tokens, mode, per_child',
    '1:2  [0]  a limit has exactly one of period (minute, hour, day, concurrent) and period_seconds',
    '1:2  [0]  a limit needs max_requests, max_tokens or both',
  ],
  ['a key twice', `[{${minuteOf5},"max_requests":50}]`, '1:38  has a key twice in one object'],
  ['a key twice, once escaped', `[{${minuteOf5},"max_r\\u0065quests":50}]`, '1:38  has a key twice in one object'],
  [
    'a period twice',
    `[{${minuteOf5}},{"period":"minute","max_tokens":7}]`,
    '1:39  [1]  limits the same period as entry [0]; keep one of the two',
  ],
  [
    'a period twice, once as seconds',
    `[{"period_seconds":60,"max_tokens":7},{${minuteOf5}}]`,
    '1:39  [1]  limits the same period as entry [0]; keep one of the two',
  ],
  [
    'a custom window twice',
    '[{"period_seconds":7,"max_tokens":7},{"period_seconds":7,"max_tokens":7}]',
    '1:38  [1]  limits the same period as entry [0]; keep one of the two',
  ],
  ['a comma at the end of the list', `[{${minuteOf5}},]`, '1:39  lacks a value here'],
  ['no comma between limits', `[{${minuteOf5}}{}]`, '1:38  lacks a comma or a closing bracket here'],
  ['text after the list', `[{${minuteOf5}}] rpm=5`, '1:40  has text after the end of the list'],
  [
    'keys without quotes',
    '[{period:"day"}]',
    '1:3  is not valid JSON here; put keys and texts in double quotes, and write numbers as plain digits',
  ],
  [
    'single quotes',
    "[{'period':'day'}]",
    '1:3  is not valid JSON here; put keys and texts in double quotes, and write numbers as plain digits',
  ],
  [
    'a comment',
    '[ // all\n]',
    '1:3  is not valid JSON here; put keys and texts in double quotes, and write numbers as plain digits',
  ],
  ['a number as a key', '[{1:2}]', '1:3  lacks a key in double quotes here'],
  ['a key without a value', '[{"period"}]', '1:11  lacks a colon after a key'],
  [
    'a control character in a text',
    '[{"period":"da\ty"}]',
    '1:12  has a text with a control character or an unknown escape',
  ],
  ['an unknown escape', '[{"period":"da\\x79"}]', '1:12  has a text with a control character or an unknown escape'],
  [
    'a text without its end',
    '[{"period":"day',
    '1:12  is not valid JSON here; put keys and texts in double quotes, and write numbers as plain digits',
  ],
  ['too many levels', '['.repeat(100_000), '1:18  is nested too deeply'],
  [
    'a mistake in the third line of JSON',
    `[\n{${minuteOf5}},\n  {"period":"day","max_tokens":0}]`,
    '3:32  [1].max_tokens  must be at least 1',
  ],
];

await test('a bad value is named with its place and stops the start', async (t) => {
  for (const [claim, value, ...says] of badValues) {
    const { config, problems, warnings } = load({ SET_RATE_LIMIT_TEAM: value });
    const expected = says.map((line) => `SET_RATE_LIMIT_TEAM:${line}`);
    t.strictSame(lines(problems).sort(), expected.sort(), `${claim}: ${quoted(value)}`);
    t.ok(config === undefined && problems.every(({ fatal }) => fatal === true), `${claim}: fatal`);
    t.strictSame(warnings, [], `${claim}: no warnings`);
  }
});

const subjects: [variable: string, means: { path: string } | { name: string } | string][] = [
  ['SET_RATE_LIMIT_', { path: '/' }],
  ['SET_RATE_LIMIT_TEAM', { path: '/team' }],
  ['SET_RATE_LIMIT_TEAM__APP__WEB', { path: '/team/app/web' }],
  ['SET_RATE_LIMIT_TEAM_ALPHA', { path: '/team_alpha' }],
  ['SET_RATE_LIMIT_TEAM_A__APP_B', { path: '/team_a/app_b' }],
  ['SET_RATE_LIMIT_Team-1', { path: '/team-1' }],
  ['SET_RATE_LIMIT_E\u0301TE\u0301', { path: '/\u00e9t\u00e9' }],
  ['SET_RATE_LIMIT_constructor', { path: '/constructor' }],
  ['SET_PROVIDER_RATE_LIMIT_OPENAI', { name: 'openai' }],
  ['SET_PROVIDER_RATE_LIMIT_MY_OPENAI', { name: 'my-openai' }],
  ['SET_PROVIDER_RATE_LIMIT_MY__OPENAI', { name: 'my--openai' }],
  ['SET_PROVIDER_RATE_LIMIT_My.OpenAI-2', { name: 'my.openai-2' }],
  ['SET_RATE_LIMIT__', 'has underscores that name no path'],
  ['SET_RATE_LIMIT___', 'has underscores that name no path'],
  ['SET_RATE_LIMIT____', 'has underscores that name no path'],
  ['SET_RATE_LIMIT_A___B', 'has underscores that name no path'],
  ['SET_RATE_LIMIT_A____B', 'has underscores that name no path'],
  ['SET_RATE_LIMIT___TEAM', 'has underscores that name no path'],
  ['SET_RATE_LIMIT_TEAM_', 'has underscores that name no path'],
  ['SET_RATE_LIMIT_ ', 'names no path; SET_RATE_LIMIT_ alone is the path /'],
  ['SET_RATE_LIMIT_/', 'names no path; SET_RATE_LIMIT_ alone is the path /'],
  ['SET_RATE_LIMIT_A:B', 'names a path that has a colon in a segment'],
  ['SET_RATE_LIMIT_A__..', 'names a path that has a "." or ".." segment'],
  ['SET_RATE_LIMIT_A\u202e', 'names a path that holds a control, zero-width or right-to-left character'],
  [`SET_RATE_LIMIT_${Array(65).fill('A').join('__')}`, 'names a path that has more than 64 segments'],
  [`SET_RATE_LIMIT_${'A'.repeat(2_000)}`, 'names a path that is longer than 1024 bytes'],
  ['SET_PROVIDER_RATE_LIMIT_', 'names no provider; write SET_PROVIDER_RATE_LIMIT_OPENAI for the provider openai'],
  ['SET_PROVIDER_RATE_LIMIT_ ', 'names no provider; write SET_PROVIDER_RATE_LIMIT_OPENAI for the provider openai'],
  ['SET_PROVIDER_RATE_LIMIT__', 'names "-", which cannot be the name of a provider'],
  ['SET_PROVIDER_RATE_LIMIT__OPENAI', 'names "-openai", which cannot be the name of a provider'],
  ['SET_PROVIDER_RATE_LIMIT_A/B', 'names "a/b", which cannot be the name of a provider'],
  [`SET_PROVIDER_RATE_LIMIT_${'A'.repeat(64)}`, `names "${'a'.repeat(57)}...", which cannot be the name of a provider`],
];

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

await test('the switch is true, false, 1 or 0', async (t) => {
  const enabled = (value: string): unknown => limitsOf({ RATE_LIMITS_ENABLED: value })?.enabled;
  for (const on of ['true', 'TRUE', 'True', '1']) t.equal(enabled(on), true, on);
  for (const off of ['false', 'FALSE', '0']) t.equal(enabled(off), false, off);
  for (const variable of ['RATE_LIMITS_ENABLED', 'USAGE_ENABLED']) {
    for (const odd of ['yes', 'no', 'on', 'off', 'enabled', '2', ' true', '\t', 'null']) {
      t.strictSame(
        load({ [variable]: odd }).problems,
        [{ ...problemOfFile(variable, 'must be true or false'), fatal: true }],
        `${variable}=${JSON.stringify(odd)}`,
      );
    }
  }
});

await test('the switch beats the files, in both directions', async (t) => {
  const yaml = (enabled: boolean): string => `rate_limits:\n  enabled: ${enabled}\n`;
  const table: [variable: string | undefined, file: string, enabled: boolean, warning: RegExp[]][] = [
    [undefined, '{}', true, []],
    [undefined, yaml(false), false, []],
    [undefined, yaml(true), true, []],
    ['true', '{}', true, []],
    ['false', '{}', false, []],
    ['true', yaml(true), true, []],
    ['false', yaml(false), false, []],
    [
      'true',
      yaml(false),
      true,
      [/^a\.yaml:2:12 {2}rate_limits\.enabled {2}is overruled by the environment variable RATE_LIMITS_ENABLED$/],
    ],
    ['false', yaml(true), false, [/^a\.yaml:2:12 .*overruled/]],
    ['false', 'rate_limits: {}\n', false, []],
  ];
  for (const [variable, text, enabled, warning] of table) {
    const { config, warnings } = load({ RATE_LIMITS_ENABLED: variable }, text);
    const claim = `${variable ?? 'unset'} over ${JSON.stringify(text)}`;
    t.equal(config?.rate_limits.enabled, enabled, claim);
    t.match(lines(warnings), warning, claim);
    t.equal(warnings.length, warning.length, claim);
  }
  t.match(
    lines(load({ SET_RATE_LIMIT_: 'rpm=5' }, yaml(false)).warnings),
    [/^a\.yaml:2:12 .* is false, so the rules of SET_RATE_LIMIT_ and its like are not enforced either/],
    'limits of variables that the files switch off are worth a warning',
  );
});

await test('a mistake stays one while rate limits are off', async (t) => {
  t.match(load({ RATE_LIMITS_ENABLED: 'false', SET_RATE_LIMIT_TEAM: 'rpm=x' }).problems, [{ fatal: true }]);
});

const files = `providers:
  openai: { type: openai, models: [m] }
  My_Provider: { type: openai, models: [m] }
rate_limits:
  user_paths:
    - { path: team//app/, limits: [{ period: minute, max_requests: 1 }, { period: day, max_requests: 2 }] }
    - { path: /team, limits: [{ period: minute, max_requests: 3 }] }
    - { path: /team/app, limits: [{ period: hour, max_requests: 4 }] }
    - { path: /Team/App, limits: [{ period: hour, max_requests: 5 }] }
  providers:
    - { name: OpenAI, limits: [{ period: minute, max_requests: 6 }] }
    - { name: my_provider, limits: [{ period: minute, max_requests: 7 }] }
  models:
    - { model: m, limits: [{ period: minute, max_requests: 8 }] }
`;

await test('a variable replaces everything the files say about its subject, and the log says so', async (t) => {
  const { config, warnings } = load(
    { SET_RATE_LIMIT_TEAM__APP: 'tpm=9', SET_PROVIDER_RATE_LIMIT_OPENAI: 'rpm=10' },
    files,
  );
  const caps = [...(config?.rate_limits.user_paths ?? []), ...(config?.rate_limits.providers ?? [])];
  t.strictSame(
    config?.rate_limits.user_paths.map(({ path }) => path),
    ['/team', '/Team/App', '/team/app'],
    'all its entries, the exact case only; its own stands last',
  );
  t.strictSame(
    config?.rate_limits.providers.map(({ name }) => name),
    ['my_provider', 'openai'],
    'providers fold case',
  );
  t.strictSame(
    caps.flatMap(({ limits }) => limits.map(({ max_requests, max_tokens }) => max_requests ?? max_tokens)),
    [3, 5, 9, 7, 10],
    'all periods',
  );
  t.equal(config?.rate_limits.models.length, 1, 'models are left alone');
  t.strictSame(lines(warnings), [
    'a.yaml:6:15  rate_limits.user_paths[0].path  is replaced, with all its limits, by the environment variable SET_RATE_LIMIT_TEAM__APP',
    'a.yaml:8:15  rate_limits.user_paths[2].path  is replaced, with all its limits, by the environment variable SET_RATE_LIMIT_TEAM__APP',
    'a.yaml:11:15  rate_limits.providers[0].name  is replaced, with all its limits, by the environment variable SET_PROVIDER_RATE_LIMIT_OPENAI',
  ]);
});

await test('the files are judged as if there were no variables', async (t) => {
  const twice =
    'rate_limits:\n  user_paths:\n    - path: /a\n      limits: [{ period: day, max_tokens: 1 }, { period: day, max_tokens: 2 }]\n';
  t.match(lines(load({ SET_RATE_LIMIT_A: 'rpm=5' }, twice).problems), [/already declared/]);
  t.strictSame(load({}, twice).problems, load({ SET_RATE_LIMIT_A: 'rpm=5' }, twice).problems);
});

await test('the order of the environment does not matter', async (t) => {
  const forwards = { SET_RATE_LIMIT_A: 'rpm=1', SET_RATE_LIMIT_B: 'rpm=2', SET_PROVIDER_RATE_LIMIT_C: 'rpm=3' };
  const backwards = Object.fromEntries(Object.entries(forwards).toReversed());
  t.equal(JSON.stringify(load(forwards)), JSON.stringify(load(backwards)));
});

await test('one variable may hold templates and plain limits', async (t) => {
  const value = `[{"period":"day","max_tokens":9},{${minuteOf5},"per_child":true},{"period":"concurrent","max_requests":2,"per_child":true}]`;
  t.match(limitsOf({ SET_RATE_LIMIT_: value })?.user_paths, [
    { path: '/', per_child: false, limits: [{ period: 'day' }] },
    { path: '/', per_child: true, limits: [{ period: 'minute' }, { period: 'concurrent' }] },
  ]);
});

await test('a template without its entitlement stops the start', async (t) => {
  const says =
    /^SET_RATE_LIMIT_A:1:50 {2}\[0\]\.per_child {2}needs the entitlement quota_templates \(GATEWAY_ENTITLEMENTS\); it never falls back/;
  const { problems, config } = load({ SET_RATE_LIMIT_A: `[{${minuteOf5},"per_child":true}]` }, '{}', unpaid);
  t.match(
    { config, lines: lines(problems), problems },
    { config: undefined, lines: [says], problems: [{ fatal: true }] },
  );
  t.match(
    lines(load({ SET_RATE_LIMIT_A: `[{${minuteOf5},"per_child":true},{"period":"moon"}]` }, '{}', unpaid).problems),
    [says, /needs max_requests/, /must be one of/],
    'other mistakes do not hide it',
  );
  t.strictSame(load({ SET_RATE_LIMIT_A: `[{${minuteOf5},"per_child":false}]` }, '{}', unpaid).problems, []);
});

await test('limits of a provider are never per child, and may say so', async (t) => {
  const given = (perChild: string) => load({ SET_PROVIDER_RATE_LIMIT_A: `[{${minuteOf5},"per_child":${perChild}}]` });
  t.match(lines(given('true').problems), [
    'SET_PROVIDER_RATE_LIMIT_A:1:50  [0].per_child  cannot be true here: limits of a provider have no children',
  ]);
  t.strictSame(given('false').problems, []);
  t.strictSame(given('false').config?.rate_limits.providers, [
    { name: 'a', limits: enforced([{ period: 'minute', max_requests: 5 }]) },
  ]);
  t.match(lines(given('"x"').problems), [
    /^SET_PROVIDER_RATE_LIMIT_A:1:50 {2}\[0\]\.per_child {2}must be true or false/,
  ]);
});

await test('a provider that is not there is a warning with a hint', async (t) => {
  const warning = (variable: string): string[] => lines(load({ [variable]: 'rpm=5' }, files).warnings);
  t.strictSame(warning('SET_PROVIDER_RATE_LIMIT_OPNEAI'), [
    'SET_PROVIDER_RATE_LIMIT_OPNEAI  there is no provider "opneai", so its limits match nothing; did you mean "openai"?',
  ]);
  t.strictSame(warning('SET_PROVIDER_RATE_LIMIT_MY_PROVIDER'), [
    'SET_PROVIDER_RATE_LIMIT_MY_PROVIDER  there is no provider "my-provider", so its limits match nothing; underscores become hyphens, so limit "My_Provider" in the YAML files',
  ]);
  t.strictSame(
    load({ SET_PROVIDER_RATE_LIMIT_OPENAI: 'rpm=5' }, 'providers: {openai: {type: openai}}\n').warnings,
    [],
    'nothing is said about providers that cannot be read',
  );
});

await test('token caps without token counting are one warning', async (t) => {
  const says = ['USAGE_ENABLED  is false, so no token is counted and no max_tokens is enforced'];
  const yaml = `providers: {p: {type: openai, models: [m]}}\nrate_limits: {models: [{model: m, limits: [{period: day, max_tokens: 1}]}]}\n`;
  const warnings = (environment: Variables, text?: string): string[] => lines(load(environment, text).warnings);
  t.strictSame(
    warnings({ USAGE_ENABLED: 'false', SET_RATE_LIMIT_A: 'rpm=1,tpm=1,tph=1', SET_RATE_LIMIT_B: 'tpd=1' }),
    says,
  );
  t.strictSame(warnings({ USAGE_ENABLED: '0' }, yaml), says);
  t.strictSame(warnings({ USAGE_ENABLED: '0', SET_RATE_LIMIT_A: 'rpm=1' }), [], 'request caps need no tokens');
  t.strictSame(warnings({ USAGE_ENABLED: '0', RATE_LIMITS_ENABLED: '0' }, yaml), [], 'nothing is enforced anyway');
  t.strictSame(warnings({ USAGE_ENABLED: '1' }, yaml), []);
  t.strictSame(warnings({}, yaml), []);
});

await test('a hundred thousand limits are the most a directory may hold', async (t) => {
  const entry = (index: number): RateLimits['user_paths'][number] => {
    return { path: `/${index}`, per_child: false, limits: [{ period: 'day', max_requests: 1, mode: 'enforce' }] };
  };
  const problem = (_path: unknown, message: string): Problem => problemOfFile('a.yaml', message);
  const sources = { problem, place: () => '', isUnknown: () => false, written: () => undefined, quoted: () => '""' };
  const check = (count: number): string[] =>
    lines(
      checkRateLimits(
        {
          enabled: true,
          max_children: 100_000,
          user_paths: Array.from({ length: count }, (_, index) => entry(index)),
          providers: [],
          models: [],
        },
        undefined,
        sources,
      ).problems,
    );
  t.strictSame(check(100_000), []);
  t.strictSame(check(100_001), ['a.yaml  has 100001 limits; at most 100000 are supported']);
});

await test('a thread gives what the main thread gives', async (t) => {
  for (const environment of [{ SET_RATE_LIMIT_TEAM: 'rpm=5' }, { SET_RATE_LIMIT_TEAM: 'rpm=x', USAGE_ENABLED: 'x' }]) {
    const context = { environment, variables: 'error', entitlements: paid } as const;
    t.strictSame(await loadOffThread([file(files)], context), loadFiles([file(files)], context));
  }
});

await test('a very long value is judged in no time', async (t) => {
  const began = performance.now();
  for (const value of [',', '"', '[', '[{', '[1,', '[{"a":1},', '[{"a":"', '\n', ' ', '[{"\\"', 'rpm=1,'].map((part) =>
    part.repeat(30_000),
  )) {
    const { problems } = load({ SET_RATE_LIMIT_TEAM: value });
    t.ok(problems.length > 0 && problems.length <= 20, `${quoted(value.slice(0, 12))}: ${problems.length} problems`);
  }
  t.ok(performance.now() - began < 5_000);
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
  fc.string({ unit: 'binary', maxLength: 8 }),
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

await test('check-config reads the variables of its environment', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-environment-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'a.yaml'), files);
  t.match(await checkConfig([directory], { SET_RATE_LIMIT_TEAM: 'rpm=5' }), {
    code: 0,
    output: /warning: .*a\.yaml:7:15 .*is replaced/,
  });
  t.match(await checkConfig([directory], { SET_RATE_LIMIT_TEAM: 'rpm=secret' }), {
    code: 1,
    output: /^SET_RATE_LIMIT_TEAM:1:5 {2}needs a whole number/,
  });
  t.match(await checkConfig([directory, '--format', 'github'], { RATE_LIMITS_ENABLED: 'yes' }), {
    code: 1,
    output: '::error file=RATE_LIMITS_ENABLED::must be true or false',
  });
});

async function start(
  options: Partial<FollowOptions> & { directory: string },
): Promise<{ events: ConfigEvent[]; limits: RateLimits[]; close: () => Promise<void> }> {
  const events: ConfigEvent[] = [];
  const limits: RateLimits[] = [];
  const follower = await followConfig({
    environment: {},
    variables: 'expand',
    entitlements: unpaid,
    nowMs: () => 0,
    apply: ({ rate_limits }) => void limits.push(rate_limits),
    report: (event) => void events.push(event),
    settings: { debounceMs: 20, recheckMs: 100, patienceMs: 100 },
    ...options,
  });
  return { events, limits, close: () => follower.close() };
}

await test('a process with a bad variable does not start, not even on the last good config', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-environment-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'a.yaml');
  writeFileSync(path, files);
  const lastGoodFolder = join(folder, 'last-good');
  const good = await start({ directory: folder, lastGoodFolder });
  await good.close();
  for (const text of [files, 'rate_limits: [\n']) {
    writeFileSync(path, text);
    const refusal = await start({
      directory: folder,
      lastGoodFolder,
      environment: { SET_RATE_LIMIT_TEAM: 'rpm=x' },
    }).catch((error: unknown) => error);
    t.ok(
      refusal instanceof ConfigRejected && refusal.message.includes('SET_RATE_LIMIT_TEAM:1:5  needs a whole number'),
      text.slice(0, 12),
    );
  }
});

await test('limits of variables outlast every edit of the files', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-environment-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'a.yaml');
  writeFileSync(path, files);
  const { events, limits, close } = await start({ directory, environment: { SET_RATE_LIMIT_TEAM: 'rpm=50' } });
  t.teardown(close);
  t.match(events[0], { kind: 'warning', problems: [{ message: /is replaced.*SET_RATE_LIMIT_TEAM/ }] });
  writeFileSync(path, files.replace('max_requests: 3', 'max_requests: 30'));
  await waitFor('the edit', () => limits.length > 1);
  for (const { user_paths } of limits)
    t.match(
      user_paths.find((entry) => entry.path === '/team'),
      { limits: [{ max_requests: 50 }] },
    );
  t.equal(events.filter(({ kind }) => kind === 'warning').length, 1, 'and the warning is one line, not one an edit');
});

await test('the flush interval is a whole number of seconds up to an hour', async (t) => {
  const read = (value: string): unknown => {
    const reading = readEnvironment({ GATEWAY_INSECURE: 'true', RATE_LIMITS_FLUSH_INTERVAL: value });
    return 'environment' in reading ? reading.environment.flushIntervalSeconds : reading.problems;
  };
  for (const [value, seconds] of [
    ['', 1],
    ['0', 0],
    ['1', 1],
    ['60', 60],
    ['3600', 3_600],
  ] as const)
    t.equal(read(value), seconds, `"${value}"`);
  for (const odd of ['-1', 'abc', '0.5', '1e9', '3601', '1s', ' 1', '0x1', '9'.repeat(40)]) {
    t.strictSame(read(odd), ['RATE_LIMITS_FLUSH_INTERVAL must be a whole number from 0 to 3600'], odd);
  }
});
