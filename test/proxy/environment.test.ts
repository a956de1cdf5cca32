// The proxy's environment: what is read, what is refused, and that no value ever shows.
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { test } from 'tap';
import { readEnvironment } from '../../proxy/environment.ts';

const key = 'sk-test-master-key-0123456789';

await test('an environment with nothing but the master key gives the defaults', async (t) => {
  const variables = { GATEWAY_MASTER_KEY: key };
  t.strictSame(readEnvironment(variables, 'machine-1'), {
    environment: {
      host: '127.0.0.1',
      port: 8080,
      servesAdmin: true,
      metricsPort: undefined,
      metricsMaxAgeMs: 1_000,
      expectedReplicas: 1,
      workers: 1,
      worker: 1,
      instance: 'machine-1:8080',
      formerInstance: '127.0.0.1:8080',
      usageEnabled: true,
      flushIntervalSeconds: 1,
      masterKey: key,
      previousMasterKey: undefined,
      insecure: false,
      ownNames: undefined,
      warnings: [],
      entitlements: new Set(),
      configDirectory: './config',
      dataDirectory: resolve('./data'),
      logLevel: 'info',
      redisUrl: undefined,
      redisWaitReplicas: 0,
      redisPrefix: 'gateway',
      secretFiles: [],
      controlPlaneUrl: 'http://127.0.0.1:8081',
      controlPlaneAuthorities: undefined,
      controlPlaneTimeoutMs: 10_000,
      databaseUrl: undefined,
      telemetry: undefined,
      vaults: {
        refreshMs: 60_000,
        hashicorp: {
          address: '',
          token: '',
          tokenFile: '',
          role: '',
          authMount: 'kubernetes',
          jwtFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
          namespace: '',
          authoritiesFile: '',
        },
        aws: { region: '', endpoint: '' },
        google: { endpoint: '' },
        azure: { address: 'https://{vault}.vault.azure.net' },
      },
      variables,
    },
  });
});

await test('every variable is read', async (t) => {
  const reading = readEnvironment({
    GATEWAY_HOST: '::1',
    GATEWAY_PORT: '0',
    GATEWAY_METRICS_PORT: '9100',
    GATEWAY_ADMIN_ON_PROXY: 'false',
    GATEWAY_METRICS_MAX_AGE_MS: '5000',
    GATEWAY_INSTANCE: 'proxy-1',
    USAGE_ENABLED: '0',
    GATEWAY_INSECURE: '1',
    GATEWAY_CONFIG: '/etc/gateway',
    GATEWAY_DATA: '/var/lib/gateway',
    GATEWAY_ENTITLEMENTS: 'quota_templates',
    LOG_LEVEL: 'silent',
    REDIS_URL: 'rediss://user:secret@redis.test:6380/2',
    GATEWAY_REDIS_PREFIX: 'team',
    REDIS_WAIT_REPLICAS: '2',
    GATEWAY_CONTROL_PLANE_URL: 'https://admin.test/',
    GATEWAY_CONTROL_PLANE_TIMEOUT_MS: '300',
    DATABASE_URL: 'postgresql://gateway@db:5432/gateway',
  });
  t.match(reading, {
    environment: {
      host: '::1',
      port: 0,
      metricsPort: 9_100,
      servesAdmin: false,
      metricsMaxAgeMs: 5_000,
      instance: 'proxy-1',
      formerInstance: undefined,
      usageEnabled: false,
      masterKey: undefined,
      insecure: true,
      entitlements: new Set(['quota_templates']),
      configDirectory: '/etc/gateway',
      dataDirectory: '/var/lib/gateway',
      logLevel: 'silent',
      redisUrl: 'rediss://user:secret@redis.test:6380/2',
      redisPrefix: 'team',
      redisWaitReplicas: 2,
      secretFiles: [],
      controlPlaneUrl: 'https://admin.test',
      controlPlaneTimeoutMs: 300,
      databaseUrl: 'postgresql://gateway@db:5432/gateway',
    },
  });
});

await test('where the control plane and Redis are must be understood, and no value is shown', async (t) => {
  const problems = (variables: Record<string, string>): unknown => {
    const reading = readEnvironment({ GATEWAY_MASTER_KEY: key, ...variables });
    return 'problems' in reading ? reading.problems : reading.environment.controlPlaneUrl;
  };
  t.equal(problems({ GATEWAY_ADMIN_HOST: '::1', GATEWAY_ADMIN_PORT: '9' }), 'http://[::1]:9');
  for (const odd of ['canary', 'ftp://a', 'http://a/path', 'http://a?x', 'http://canary:b@a', 'http://a#x']) {
    t.match(
      problems({ GATEWAY_CONTROL_PLANE_URL: odd }),
      [/^GATEWAY_CONTROL_PLANE_URL must be an address such as/],
      odd,
    );
  }
  for (const odd of ['canary', 'http://a', 'redis://', 'redis://:canary@a?x=1', 'redis://a/canary']) {
    t.match(problems({ REDIS_URL: odd }), [/^REDIS_URL must look like/], odd);
    t.notMatch(JSON.stringify(problems({ REDIS_URL: odd })), /canary/);
  }
  t.match(problems({ GATEWAY_REDIS_PREFIX: 'a b' }), [/^GATEWAY_REDIS_PREFIX must be/]);
  t.match(problems({ GATEWAY_CONTROL_PLANE_TIMEOUT_MS: '1s' }), [/^GATEWAY_CONTROL_PLANE_TIMEOUT_MS must be/]);
});

await test('the instance is named after the machine and the port unless it has a name', async (t) => {
  const instance = (variables: Record<string, string>, machine = 'pod-7'): unknown => {
    const reading = readEnvironment({ GATEWAY_MASTER_KEY: key, ...variables }, machine);
    return 'environment' in reading ? reading.environment.instance : reading.problems;
  };
  t.equal(instance({ GATEWAY_HOST: '0.0.0.0', GATEWAY_PORT: '9000' }), 'pod-7:9000', 'every pod listens on 0.0.0.0');
  t.equal(instance({}, '../mål'), '..-m-l:8080', 'it names a folder');
  t.equal(instance({}, ''), '127.0.0.1:8080');
  t.equal(instance({ GATEWAY_HOST: '::1', GATEWAY_INSTANCE: '::1:8080' }), '::1:8080', 'the default of before');
  t.equal(instance({ GATEWAY_INSTANCE: 'A.b_c-1:2' }), 'A.b_c-1:2');
  t.equal(instance({ GATEWAY_HOST: '::1', GATEWAY_INSTANCE: 'six' }), 'six');
  for (const host of ['::', '::1', '0.0.0.0', 'fe80::1']) {
    t.match(instance({ GATEWAY_HOST: host }), /^(?![.-])[\w.:-]+$/, `listening on ${host} names a folder`);
  }
  for (const odd of ['..', '.hidden', '../up', 'a/b', 'a b', '-x', 'é', 'x'.repeat(129), 'control-plane']) {
    t.match(instance({ GATEWAY_INSTANCE: odd }), [/^GATEWAY_INSTANCE must be/], odd);
  }
});

await test('each worker behind the first has a name of its own, and the first one that of a proxy without workers', async (t) => {
  const worker = (number: number, variables: Record<string, string> = {}): unknown => {
    const reading = readEnvironment({ GATEWAY_MASTER_KEY: key, GATEWAY_WORKERS: '3', ...variables }, 'pod-7', number);
    return 'environment' in reading ? reading.environment : reading.problems;
  };
  t.match(worker(1), { workers: 3, worker: 1, instance: 'pod-7:8080', formerInstance: '127.0.0.1:8080' });
  t.match(worker(2), { workers: 3, worker: 2, instance: 'pod-7:8080@2', formerInstance: undefined });
  t.match(worker(3, { GATEWAY_INSTANCE: 'gw' }), { instance: 'gw@3' });
  t.match(worker(1, { GATEWAY_EXPECTED_REPLICAS: '2' }), { expectedReplicas: 6 });
  t.match(worker(1, { GATEWAY_WORKERS: 'auto' }), { workers: availableParallelism() });
  for (const odd of ['0', '129', '-1', '1.5', 'all']) {
    t.match(worker(1, { GATEWAY_WORKERS: odd }), [/^GATEWAY_WORKERS must be auto or a whole number from 1 to 128$/]);
  }
});

await test('every problem is reported at once, by name, without its value', async (t) => {
  const reading = readEnvironment({
    GATEWAY_HOST: 'secret host',
    GATEWAY_PORT: 'secret',
    GATEWAY_INSTANCE: 'secret/instance',
    USAGE_ENABLED: 'secret',
    GATEWAY_MASTER_KEY: 'secret key',
    GATEWAY_INSECURE: 'secret',
    GATEWAY_ENTITLEMENTS: 'secret',
    LOG_LEVEL: 'secret',
  });
  const problems = 'problems' in reading ? reading.problems : [];
  const named = problems.map((problem) => problem.split(' ')[0] ?? '').sort();
  t.strictSame(named, [
    'GATEWAY_ENTITLEMENTS',
    'GATEWAY_HOST',
    'GATEWAY_INSECURE',
    'GATEWAY_INSTANCE',
    'GATEWAY_MASTER_KEY',
    'GATEWAY_PORT',
    'LOG_LEVEL',
    'USAGE_ENABLED',
  ]);
  t.notMatch(problems.join('\n'), 'secret');
});

await test('the settings cannot be changed afterwards', async (t) => {
  const reading = readEnvironment({ GATEWAY_MASTER_KEY: key });
  t.ok('environment' in reading && Object.isFrozen(reading.environment));
});
