// Cloud identities while what issues credentials is down, slow, wrong about the time or talks nonsense: no request fails while the last
// credential holds.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { FakeAws, type StsAnswer } from '../support/fake-aws.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

const aws = await new FakeAws().start(suite);
const upstream = await startFakeUpstream({ t: suite });
/** The second question for each of these roles is answered like this; a server that is down is asked again by the package itself. */
const faults: readonly StsAnswer[] = ['down', 'slow', 'garbage', 'denied', 'ended', 'other clock'];
const nameOf = (fault: StsAnswer): string => fault.replace(' ', '-');
const bedrock = (role: string, more: object = {}): object => ({
  type: 'bedrock',
  base_url: aws.url,
  auth: 'aws',
  aws: { role_arn: `arn:aws:iam::123456789012:role/${role}`, region: 'eu-central-1', ...more },
  models: ['amazon.nova-lite-v1:0'],
});
const secretOf = (team: string): string => `sk-test-key-of-team-${team}-0123456789abcdef`;
const keyOf = (team: string): object => ({
  name: team,
  hash: `sha256:${createHash('sha256').update(secretOf(team)).digest('hex')}`,
  labels: [`team:${team}`],
});
const config = {
  providers: {
    ...Object.fromEntries(faults.map((fault) => [nameOf(fault), bedrock(nameOf(fault))])),
    tagged: bedrock('tagged', { session_tags_from: ['team'] }),
    spare: { type: 'openai', base_url: upstream.url, models: upstream.models, api_key: 'sk-test-spare' },
  },
  keys: ['search', 'shop'].map(keyOf),
};

// Renewed after 5.6 to 6.4 s, so that what fails then has more than a second to be asked again.
aws.lifeMs = 8_000;
aws.answer = ({ role }, asked) => {
  const fault = faults.find((one) => nameOf(one) === role);
  // Its clock is off all the time.
  if (fault === 'other clock') return fault;
  if (fault === 'down') return asked >= 1 && asked <= 3 ? fault : 'credential';
  return asked === 1 && fault !== undefined ? fault : 'credential';
};
const gateway = await startGateway(suite, { config, env: aws.environment });

async function ask(model: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  const body = { model, messages: [{ role: 'user', content: 'hello' }] };
  const answer = await gateway.fetch('/v1/chat/completions', { method: 'POST', body, headers });
  return { status: answer.status, text: await answer.text() };
}

const modelOf = (provider: string): string => `${provider}/amazon.nova-lite-v1:0`;

await test('no request fails while the last credential holds', async (t) => {
  const statuses = new Map<string, number>();
  const tokensOf = (name: string): Set<string | undefined> =>
    new Set(aws.calls.flatMap(({ token }) => (token?.startsWith(`canary-token-${name}-`) ? [token] : [])));
  await waitFor(
    'a renewed credential of each to be used',
    async () => {
      for (const fault of faults) {
        const { status } = await ask(modelOf(nameOf(fault)));
        statuses.set(`${fault} ${status}`, (statuses.get(`${fault} ${status}`) ?? 0) + 1);
      }
      return faults.every((fault) => tokensOf(nameOf(fault)).size > 1);
    },
    20_000,
  );
  t.strictSame([...statuses.keys()].sort(), faults.map((fault) => `${fault} 200`).sort());
  t.strictSame(
    aws.calls.filter(({ problem }) => problem !== undefined),
    [],
  );
  t.strictSame(
    aws.questions.filter(({ signedBy }) => signedBy !== 'ASIAINSTANCE00000000'),
    [],
    'the role is assumed with the credentials of the instance',
  );
  const warned = gateway.process.logs().filter(({ msg }) => String(msg).includes('the last one holds until'));
  t.strictSame(
    [...new Set(warned.map(({ provider }) => String(provider)))].sort(),
    faults.filter((fault) => fault !== 'other clock').sort(),
  );
  aws.lifeMs = 3_600_000;
});

await test('the session of a caller has the tags of its labels', async (t) => {
  const askAs = async (team: string): Promise<string | undefined> => {
    const { status } = await ask(modelOf('tagged'), { authorization: `Bearer ${secretOf(team)}` });
    return status === 200 ? aws.calls.at(-1)?.tags['team'] : `status ${status}`;
  };
  const first = aws.questions.length;
  t.equal(await askAs('search'), undefined, 'its first request has no tags, and does not wait');
  await waitFor('the session of search', async () => (await askAs('search')) === 'search');
  await waitFor('the session of shop', async () => (await askAs('shop')) === 'shop');
  t.equal(await askAs('search'), 'search');
  await ask(modelOf('tagged'));
  t.strictSame(aws.calls.at(-1)?.tags, {}, 'a caller without labels has none');
  t.strictSame(
    aws.questions.slice(first).flatMap(({ tags: { team } }) => team ?? []),
    ['search', 'shop'],
    'one question for each team',
  );
});

await test('without a valid credential no request is sent, and everybody is told why', async (t) => {
  aws.answer = ({ role }) => (role === 'never' ? 'denied' : 'credential');
  await gateway.applyConfig({
    'gateway.yaml': {
      ...config,
      providers: { ...config.providers, never: bedrock('never') },
      aliases: [
        { source: 'safe', strategy: 'failover', targets: [{ model: modelOf('never') }, { model: 'spare/fake-small' }] },
      ],
    },
  });
  await waitFor('the first refusal', () => aws.asked('never') > 0);
  const { status, text } = await ask(modelOf('never'));
  t.match([status, text], [503, /"provider_credential_missing"/]);
  t.match(text, /no valid credential for never/);
  t.equal((await ask('safe')).status, 200, 'an alias asks its next target');
  t.match(await (await gateway.fetch('/health/ready')).json(), {
    status: 'degraded',
    reasons: ['provider_credential_missing'],
  });
  const explained = await gateway.fetch(`/admin/explain?model=safe`);
  t.match(await explained.text(), /"reason":"no_credential"/);
  t.equal(await gateway.metric('gateway_cloud_identity_valid', { provider: 'never' }), 0);
  t.equal(await gateway.metric('gateway_cloud_identity_valid', { provider: 'tagged' }), 1);
  aws.answer = () => 'credential';
  await waitFor('its first credential', async () => (await ask(modelOf('never'))).status === 200);
});

await test('no token is told, kept or logged, also when the provider quotes it', async (t) => {
  aws.refusal = ({ token }) => ({
    status: 400,
    text: JSON.stringify({ message: `signed x-amz-security-token:${token}` }),
  });
  const { status, text } = await ask(modelOf('tagged'));
  aws.refusal = undefined;
  t.equal(status, 400);
  t.match(text, /signed x-amz-security-token:\[redacted\]/);
  const told = [
    text,
    ...gateway.process.stdout,
    ...gateway.process.stderr,
    await gateway.metrics(),
    ...filesIn(gateway.dataDir),
  ];
  t.notMatch(told.join('\n'), /canary|secret-of-another-answer/);
});

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
}
