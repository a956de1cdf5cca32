// Values of environment variables that set rate limits, the names of such variables, and what each must give.

import { type Loaded, loadFiles } from '../../gitops/assemble/load.ts';
import { formatProblem, type Problem } from '../../gitops/read/problem.ts';
import type { SourceFile } from '../../gitops/read/read.ts';
import type { Limit, RateLimits } from '../../schemas/types.ts';

export type Variables = Record<string, string | undefined>;

export const file = (text: string): SourceFile => ({ name: 'a.yaml', path: 'a.yaml', bytes: Buffer.from(text) });
export const paid = new Set(['quota_templates']);
export const unpaid = new Set<string>();

export const load = (environment: Variables, yaml = '{}', entitlements: ReadonlySet<string> = paid): Loaded =>
  loadFiles([file(yaml)], { environment, variables: 'error', entitlements });
export const lines = (problems: readonly Problem[]): string[] => problems.map(formatProblem);
export const limitsOf = (environment: Variables, yaml?: string): RateLimits | undefined => {
  const { config, problems } = load(environment, yaml);
  if (config === undefined) throw new Error(lines(problems).join('\n'));
  return config.rate_limits;
};
export const enforced = (limits: Partial<Limit>[]): unknown[] => limits.map((limit) => ({ ...limit, mode: 'enforce' }));
export const quoted = (text: string): string => JSON.stringify(text.length > 90 ? `${text.slice(0, 90)}…` : text);

const known = 'known are rpm, tpm, rph, tph, rpd, tpd and concurrent';
const pairs = 'write pairs such as rpm=60,tpm=100000';
const number = 'needs a whole number from 1 to 9007199254740991 after';
const onePeriod = 'a limit has exactly one of period (minute, hour, day, concurrent) and period_seconds';
export const minuteOf5 = '"period":"minute","max_requests":5';

export const goodValues: [claim: string, value: string, limits: Partial<Limit>[]][] = [
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

export const badValues: [claim: string, value: string, ...says: string[]][] = [
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
    '1:38  [0]  has an unknown key; known here: period, period_seconds, max_requests, max_tokens, name, mode, on_store_loss, per_child',
  ],
  [
    'a key other objects have',
    `[{${minuteOf5},"__proto__":5}]`,
    '1:38  [0]  has an unknown key; known here: period, period_seconds, max_requests, max_tokens, name, mode, on_store_loss, per_child',
  ],
  [
    'the words of the compact form in JSON',
    '[{"rpm":5}]',
    '1:3  [0]  has an unknown key; known here: period, period_seconds, max_requests, max_tokens, name, mode, on_store_loss, per_child',
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

export const subjects: [variable: string, means: { path: string } | { name: string } | string][] = [
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
