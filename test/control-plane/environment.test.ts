// The environment of the control plane: valid and invalid values; no message shows a value.
import { resolve } from 'node:path';
import { test } from 'tap';
import { readEnvironment } from '../../control-plane/environment.ts';

const key = 'sk-test-master-key-0123456789';

await test('an environment with nothing but the master key gives the defaults', async (t) => {
  const variables = { GATEWAY_MASTER_KEY: key };
  t.strictSame(readEnvironment(variables), {
    environment: {
      host: '127.0.0.1',
      port: 8081,
      masterKey: key,
      previousMasterKey: undefined,
      adoptsUnsigned: false,
      configCommit: undefined,
      databaseUrl: undefined,
      insecure: false,
      ownNames: undefined,
      warnings: [],
      entitlements: new Set(),
      configDirectory: './config',
      dataDirectory: resolve('./data'),
      logLevel: 'info',
      metricsMaxAgeMs: 1_000,
      redisUrl: undefined,
      redisWaitReplicas: 0,
      redisPrefix: 'gateway',
      secretFiles: [],
      usageEnabled: true,
      variables,
    },
  });
});

await test('every variable is read', async (t) => {
  const reading = readEnvironment({
    GATEWAY_ADMIN_HOST: '::1',
    GATEWAY_ADMIN_PORT: '0',
    GATEWAY_MASTER_KEY: key,
    GATEWAY_PREVIOUS_MASTER_KEY: 'the one before',
    GATEWAY_ADOPT_UNSIGNED: 'true',
    GATEWAY_INSECURE: 'TRUE',
    GATEWAY_CONFIG: '/etc/gateway',
    GATEWAY_CONFIG_COMMIT: 'v1.2.3-4-g1f0c6d2a',
    GATEWAY_ENTITLEMENTS: ' quota_templates ,',
    GATEWAY_DATA: '/var/lib/gateway',
    LOG_LEVEL: 'debug',
    DATABASE_URL: 'postgresql://gateway@db:5432/gateway',
  });
  t.match(reading, {
    environment: {
      host: '::1',
      port: 0,
      masterKey: key,
      previousMasterKey: 'the one before',
      adoptsUnsigned: true,
      insecure: true,
      entitlements: new Set(['quota_templates']),
      configDirectory: '/etc/gateway',
      configCommit: 'v1.2.3-4-g1f0c6d2a',
      dataDirectory: '/var/lib/gateway',
      logLevel: 'debug',
      databaseUrl: 'postgresql://gateway@db:5432/gateway',
    },
  });
});

await test('an empty variable counts as unset', async (t) => {
  const empty = {
    GATEWAY_ADMIN_HOST: '',
    GATEWAY_ADMIN_PORT: '',
    GATEWAY_INSECURE: '',
    GATEWAY_CONFIG: '',
    GATEWAY_CONFIG_COMMIT: '',
    LOG_LEVEL: '',
  };
  const { environment } = readEnvironment({ ...empty, GATEWAY_MASTER_KEY: key }) as { environment: object };
  const { environment: bare } = readEnvironment({ GATEWAY_MASTER_KEY: key }) as { environment: object };
  t.strictSame({ ...environment, variables: undefined }, { ...bare, variables: undefined });
});

await test('the settings cannot be changed afterwards', async (t) => {
  const reading = readEnvironment({ GATEWAY_MASTER_KEY: key });
  t.ok('environment' in reading && Object.isFrozen(reading.environment));
});

await test('without a master key the start is refused', async (t) => {
  for (const variables of [{}, { GATEWAY_MASTER_KEY: '' }, { GATEWAY_INSECURE: 'false' }]) {
    const reading = readEnvironment(variables);
    t.match(reading, { problems: [/^GATEWAY_MASTER_KEY is not set; .*GATEWAY_INSECURE=true/] });
  }
});

await test('GATEWAY_INSECURE=true goes without a master key', async (t) => {
  t.match(readEnvironment({ GATEWAY_INSECURE: 'true' }), { environment: { insecure: true, masterKey: undefined } });
});

const refused: [variable: string, value: string, says: RegExp][] = [
  ['GATEWAY_ADMIN_PORT', '65536', /from 0 to 65535/],
  ['GATEWAY_ADMIN_PORT', '-1', /from 0 to 65535/],
  ['GATEWAY_ADMIN_PORT', '80.5', /from 0 to 65535/],
  ['GATEWAY_ADMIN_PORT', '0x50', /from 0 to 65535/],
  ['GATEWAY_ADMIN_PORT', '8o81', /from 0 to 65535/],
  ['GATEWAY_ADMIN_PORT', ' 8081', /from 0 to 65535/],
  ['GATEWAY_ADMIN_PORT', '٨٠٨١', /from 0 to 65535/],
  ['GATEWAY_ADMIN_HOST', 'http://localhost', /without a port/],
  ['GATEWAY_ADMIN_HOST', 'a b', /without a port/],
  ['GATEWAY_CONFIG_COMMIT', 'two words', /must be a commit/],
  ['GATEWAY_MASTER_KEY', 'two words', /visible ASCII/],
  ['GATEWAY_MASTER_KEY', 'line\nbreak', /visible ASCII/],
  ['GATEWAY_MASTER_KEY', 'schlüssel', /visible ASCII/],
  ['GATEWAY_INSECURE', 'yes', /true or false/],
  ['GATEWAY_INSECURE', '2', /true or false/],
  ['GATEWAY_ENTITLEMENTS', 'quota_template', /comma list of quota_templates/],
  ['LOG_LEVEL', 'verbose', /trace, debug, info, warn, error, fatal, silent/],
  ['LOG_LEVEL', 'INFO', /trace, debug, info, warn, error, fatal, silent/],
];

for (const [variable, value, says] of refused) {
  await test(`${variable}=${JSON.stringify(value)} is refused by name, its value unsaid`, async (t) => {
    const reading = readEnvironment({ GATEWAY_MASTER_KEY: key, [variable]: value });
    const problems = 'problems' in reading ? reading.problems : [];
    t.equal(problems.length, 1);
    t.match(problems[0], new RegExp(`^${variable} `));
    t.match(problems[0], says);
    if (value !== 'quota_template' && value.length > 3) t.notMatch(problems[0], value);
  });
}

await test('all problems are reported at once', async (t) => {
  const reading = readEnvironment({
    GATEWAY_ADMIN_PORT: 'x',
    GATEWAY_ADMIN_HOST: '/',
    GATEWAY_INSECURE: 'x',
    LOG_LEVEL: 'x',
  });
  const names = 'problems' in reading ? reading.problems.map((problem) => problem.split(' ')[0]) : [];
  const expected = ['GATEWAY_ADMIN_HOST', 'GATEWAY_ADMIN_PORT', 'GATEWAY_INSECURE', 'GATEWAY_MASTER_KEY', 'LOG_LEVEL'];
  t.strictSame(new Set(names), new Set(expected));
  t.equal(names.length, expected.length);
});
