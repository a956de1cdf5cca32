// The variables of both planes: one meaning each, an empty one counts as unset, and an invalid one is a problem.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { environmentReading, logLevels, readVariables, type VariableReader } from '../../plane/environment.ts';
import type { Variables } from '../../schemas/variables.ts';
import { temporaryDirectory } from '../support/teardown.ts';

/** What `read` gives for the variables, or the problems it met. */
function reading<T>(variables: Variables, read: (reader: VariableReader) => T): T | readonly string[] {
  const reader = readVariables(variables);
  const value = read(reader);
  return reader.problems.length === 0 ? value : reader.problems;
}

await test('a text is what it says, or the fallback', async (t) => {
  const text = (value?: string): unknown => reading({ X: value }, (reader) => reader.text('X', 'fallback'));
  t.equal(text('a b'), 'a b');
  t.equal(text(''), 'fallback');
  t.equal(text(), 'fallback');
});

await test('a flag is true or false in few spellings', async (t) => {
  const flag = (value: string | undefined, fallback: boolean): unknown =>
    reading({ X: value }, (reader) => reader.flag('X', fallback));
  for (const yes of ['true', 'TRUE', 'True', '1']) t.equal(flag(yes, false), true, yes);
  for (const no of ['false', 'FALSE', '0']) t.equal(flag(no, true), false, no);
  for (const fallback of [true, false]) t.equal(flag('', fallback), fallback);
  for (const odd of ['yes', 'on', '2', ' true', 'null']) t.same(flag(odd, true), ['X must be true or false'], odd);
});

await test('a host is an address or a name, without a port or a scheme', async (t) => {
  const host = (value?: string): unknown => reading({ X: value }, (reader) => reader.host('X'));
  t.equal(host(), '127.0.0.1');
  for (const good of ['0.0.0.0', '::', '::1', 'localhost', 'gateway-1.test']) t.equal(host(good), good);
  for (const odd of ['http://a', 'a b', '[::1]', 'a/b', 'a@b']) t.match(host(odd), [/^X must be an address/], odd);
});

await test('a port is a whole number up to 65535', async (t) => {
  const port = (value?: string): unknown => reading({ X: value }, (reader) => reader.port('X', 8080));
  t.equal(port(), 8080);
  for (const good of ['0', '1', '65535', '00080']) t.equal(port(good), Number(good));
  for (const odd of ['65536', '-1', '1.5', '0x50', '8080 ', '1e3', '100000', 'http']) {
    t.same(port(odd), ['X must be a whole number from 0 to 65535'], odd);
  }
});

await test('there is a master key, or going without is said out loud', async (t) => {
  const masterKey = (variables: Variables): unknown =>
    reading(variables, (reader) => reader.planeSettings('127.0.0.1').masterKey);
  t.equal(masterKey({ GATEWAY_MASTER_KEY: 'k' }), 'k');
  t.equal(masterKey({ GATEWAY_MASTER_KEY: 'k', GATEWAY_INSECURE: 'true' }), 'k', 'a key that is there is used');
  t.equal(masterKey({ GATEWAY_INSECURE: 'true' }), undefined);
  for (const variables of [{}, { GATEWAY_MASTER_KEY: '' }, { GATEWAY_INSECURE: 'false' }]) {
    t.match(masterKey(variables), [/^GATEWAY_MASTER_KEY is not set.*GATEWAY_INSECURE=true/]);
  }
  for (const odd of ['a b', ' a', 'a\n', 'é', 'a\u0000']) {
    t.match(masterKey({ GATEWAY_MASTER_KEY: odd }), [/^GATEWAY_MASTER_KEY must consist of visible ASCII/]);
  }
});

await test('a secret may lie in a file, but not in two places', async (t) => {
  const folder = temporaryDirectory(t, 'secrets');
  const file = (content: string): string => {
    const path = join(folder, 'secret');
    writeFileSync(path, content);
    return path;
  };
  const settings = (variables: Variables): unknown =>
    reading(variables, (reader) => {
      const { masterKey, previousMasterKey, redisUrl } = reader.planeSettings('127.0.0.1');
      return { masterKey, previousMasterKey, redisUrl };
    });
  const key = { GATEWAY_MASTER_KEY: 'sk-test-master-key-0123456789' };
  t.match(settings({ GATEWAY_MASTER_KEY_FILE: file('of-the-file\n') }), { masterKey: 'of-the-file' });
  t.match(settings({ ...key, GATEWAY_PREVIOUS_MASTER_KEY_FILE: file('before') }), { previousMasterKey: 'before' });
  t.match(settings({ ...key, REDIS_URL_FILE: file('redis://h:1/0\n') }), { redisUrl: 'redis://h:1/0' });
  for (const name of ['GATEWAY_MASTER_KEY', 'GATEWAY_PREVIOUS_MASTER_KEY', 'REDIS_URL']) {
    const path = file('redis://canary:1/0');
    const both = settings({ ...key, [name]: 'redis://canary:1/0', [`${name}_FILE`]: path });
    t.same(both, [`${name} and ${name}_FILE are both set; set one of them`]);
    const others = name === 'GATEWAY_MASTER_KEY' ? {} : key;
    const absent = settings({ ...others, [`${name}_FILE`]: `${path}-absent` });
    t.same(absent, [`${name}_FILE names a file that does not exist`]);
    t.same(settings({ ...others, [`${name}_FILE`]: file('') }), [`${name}_FILE names a file that is empty`]);
  }
});

await test('what a file of a secret may hold later is what it may hold at the start', async (t) => {
  const path = join(temporaryDirectory(t, 'secrets'), 'secret');
  const key = 'sk-test-master-key-0123456789';
  const problemOf = (name: string, host: string, later: string): unknown => {
    const isKey = name === 'GATEWAY_MASTER_KEY';
    writeFileSync(path, isKey ? key : 'redis://h:1/0');
    const variables = { ...(isKey ? {} : { GATEWAY_MASTER_KEY: key }), [`${name}_FILE`]: path };
    return reading(variables, (reader) => {
      const [file, ...others] = reader.planeSettings(host).secretFiles;
      t.same([file?.name, file?.path, others], [name, path, []]);
      return file?.problemOf(later);
    });
  };
  t.equal(problemOf('GATEWAY_MASTER_KEY', '0.0.0.0', 'k'.repeat(16)), undefined);
  t.match(problemOf('GATEWAY_MASTER_KEY', '0.0.0.0', 'k'.repeat(15)), /fewer than 16 characters/);
  t.equal(problemOf('GATEWAY_MASTER_KEY', '127.0.0.1', 'k'), undefined);
  t.equal(problemOf('REDIS_URL', '127.0.0.1', 'rediss://u:p@h/1'), undefined);
  t.match(problemOf('REDIS_URL', '127.0.0.1', 'postgres://h'), /holds no address such as redis:/);
});

await test('a master key that can be guessed is warned about on loopback, and stops the start elsewhere', async (t) => {
  const said = (key: string, host: string): unknown =>
    reading({ GATEWAY_MASTER_KEY: key }, (reader) => reader.planeSettings(host).warnings);
  const short = 'k'.repeat(15);
  for (const own of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) {
    t.match(said(short, own), [/^GATEWAY_MASTER_KEY has fewer than 16 characters .* does not start with it$/], own);
  }
  for (const open of ['0.0.0.0', '::', '192.0.2.1', '127.0.0.1.example', 'gateway']) {
    t.match(said(short, open), [/^GATEWAY_MASTER_KEY has fewer than 16 characters .*; set it to a long/], open);
  }
  for (const host of ['127.0.0.1', '0.0.0.0']) t.same(said(`${short}k`, host), [], 'sixteen are enough');
});

await test('the log level is one of the known ones, in lower case', async (t) => {
  const level = (value?: string): unknown =>
    reading({ GATEWAY_MASTER_KEY: 'k', LOG_LEVEL: value }, (reader) => reader.planeSettings('127.0.0.1').logLevel);
  t.equal(level(), 'info');
  for (const known of logLevels) t.equal(level(known), known);
  for (const odd of ['INFO', 'verbose', '30']) t.match(level(odd), [/^LOG_LEVEL must be one of trace, debug/], odd);
});

await test('entitlements are a comma list of known features', async (t) => {
  const given = (value?: string): unknown =>
    reading({ GATEWAY_MASTER_KEY: 'k', GATEWAY_ENTITLEMENTS: value }, (reader) => [
      ...reader.planeSettings('127.0.0.1').entitlements,
    ]);
  t.same(given(), []);
  t.same(given(' , '), []);
  t.same(given('quota_templates'), ['quota_templates']);
  t.same(given(' quota_templates ,quota_templates'), ['quota_templates']);
  for (const odd of ['quota', 'quota_templates,more', 'QUOTA_TEMPLATES', 'quota_templates;']) {
    t.match(given(odd), [/^GATEWAY_ENTITLEMENTS must be a comma list of quota_templates/], odd);
  }
});

await test('problems win over settings, and settings are frozen', async (t) => {
  const good = environmentReading({ a: 1 }, readVariables({}));
  t.strictSame(good, { environment: { a: 1 } });
  t.ok('environment' in good && Object.isFrozen(good.environment));
  const reader = readVariables({ A: 'x', B: 'x' });
  reader.flag('A', true);
  reader.port('B', 1);
  t.strictSame(environmentReading({ a: 1 }, reader), {
    problems: ['A must be true or false', 'B must be a whole number from 0 to 65535'],
  });
});
