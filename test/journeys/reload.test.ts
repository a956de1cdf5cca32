// Edits of the config take effect within a second, mistakes change nothing, and no client notices either.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { chatCall, firstEvent, lastEvent } from '../support/chat-call.ts';
import { extent } from '../support/extent.ts';
import { createGate, type Entry, type Gate, type Step, startFakeUpstream } from '../support/fake-upstream.ts';
import { readMetric, startGateway } from '../support/gateway.ts';
import { readinessOf } from '../support/operator.ts';
import type { LogLine } from '../support/process.ts';
import { openRaw, pause } from '../support/raw-http.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const path = '/v1/chat/completions';
const providerConfig = { type: 'openai', base_url: upstream.url, models: upstream.models };
const providersFile = (...names: string[]) => ({
  'providers.yaml': { providers: Object.fromEntries(names.map((name) => [name, providerConfig])) },
});
const aliasFile = (target: string, comment = '') => ({
  'aliases.yaml': `# ${comment}\naliases:\n  - source: chat\n    target: ${target}\n`,
});
const badFile = 'aliases:\n  - source: chat\n    target: nowhere/at-all\n  - source: two\n    target: fake/none\n';

/** What the tests begin with. */
const firstFiles = { ...providersFile('fake'), ...aliasFile('fake/fake-small'), 'limits.yaml': null };
/** For every test that does not need its very first start. */
const gateway = await startGateway(suite, { files: firstFiles });
const atStart = await configMetrics();
suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

async function ask(model: string) {
  const response = await gateway.fetch(path, { method: 'POST', body: { model } });
  const body = (await response.json()) as { model?: string; error?: { code: string } };
  return { status: response.status, model: body.model, code: body.error?.code };
}

/** Puts the first files in force again, after a test that wrote others; gives the config metrics. */
async function restoreConfig() {
  gateway.writeConfig(firstFiles);
  gateway.process.signal('SIGHUP');
  return waitFor('the first files to be in force', async () => {
    const metrics = await configMetrics();
    return metrics.info === atStart.info && metrics.lastSuccessful === 1 && metrics;
  });
}

/** What the config metrics say at this moment. */
async function configMetrics() {
  const text = await gateway.metrics();
  const read = (name: string, labels?: Record<string, string>) =>
    readMetric(text, `gateway_config_${name}`, labels) ?? 0;
  return {
    success: read('reload_total', { result: 'success' }),
    failure: read('reload_total', { result: 'failure' }),
    lastSuccessful: read('last_reload_successful'),
    lastSuccessSeconds: read('last_reload_success_timestamp_seconds'),
    info: /^gateway_config_info\{.*/m.exec(text)?.[0] ?? '',
  };
}

async function untilConfig(counts: { success?: number; failure?: number }, deadlineMs = 10_000) {
  return waitFor(
    `config metrics ${JSON.stringify(counts)}`,
    async () => {
      const metrics = await configMetrics();
      const { success = metrics.success, failure = metrics.failure } = counts;
      return metrics.success === success && metrics.failure === failure && metrics;
    },
    deadlineMs,
  );
}

const eventEveryMs = extent(40, 100);

/** The log lines about mistakes, without the summary. */
function errorsOf(lines: readonly LogLine[]): unknown[] {
  return lines
    .filter(({ level }) => level === 'error' || level === 'fatal')
    .flatMap(({ msg }) => (msg === 'config rejected' ? [] : [msg]));
}

/** A stream that says a numbered event every so often until it is told to end; `said` is what it has said. */
function createTalk(id: number, end: Gate) {
  const said: string[] = [];
  const chunks = function* (): Generator<Step> {
    for (let count = 0; !end.released; count += 1) {
      const text = `data: {"choices":[{"index":0,"delta":{"content":"${id}:${count}"}}],"usage":null}\n\n`;
      said.push(text);
      yield text;
      yield pause(eventEveryMs);
    }
    said.push('data: [DONE]\n\n');
    yield 'data: [DONE]\n\n';
  };
  return { said, behaviour: { kind: 'sse' as const, chunks: chunks() } };
}

// A short run has each kind of edit once: a bad file before it, three sets of providers, two targets.
const reloads = extent(30, 6);
const requestsPerSecond = extent(150, 60);

await test('reloads under load lose no request; 20 streams open across all of them are byte-identical', async (t) => {
  const before = await restoreConfig();
  const end = createGate();
  const talks: ReturnType<typeof createTalk>[] = [];
  await upstream.behave((entry: Entry) => {
    const body = entry.json() as { stream?: boolean } | undefined;
    if (!body?.stream) return undefined;
    const talk = createTalk(talks.length, end);
    talks.push(talk);
    return talk.behaviour;
  });
  const streams = Array.from({ length: 20 }, async (_, index) => {
    const body = { model: index % 2 === 0 ? 'chat' : 'fake/fake-small', stream: true };
    const response = await gateway.fetch(path, { method: 'POST', body });
    return { status: response.status, text: await response.text() };
  });
  await waitFor('20 streams', () => talks.length === 20 && talks.every(({ said }) => said.length > 1));

  const outcomes: { status: number | string; ms: number }[] = [];
  let launched = 0;
  const stopped = createGate();
  const launch = async (count: number) => {
    launched += 1;
    const startedAtMs = performance.now();
    const { status } = await ask(['chat', 'fake-small', 'fake/fake-large'][count % 3] ?? '').catch(
      (error: unknown) => ({ status: String(error) }),
    );
    outcomes.push({ status, ms: performance.now() - startedAtMs });
  };
  const load = (async () => {
    const startedAtMs = performance.now();
    for (let count = 0; !stopped.released; ) {
      const due = Math.floor(((performance.now() - startedAtMs) / 1000) * requestsPerSecond);
      for (; count < due; count += 1) void launch(count);
      await new Promise((next) => setTimeout(next, 5));
    }
    await waitFor('every request to be answered', () => outcomes.length === launched);
    return (performance.now() - startedAtMs) / 1000;
  })();

  for (let round = 0; round < reloads; round += 1) {
    if (round % 6 === 5) gateway.writeConfig({ 'aliases.yaml': badFile });
    const names = round % 3 === 0 ? ['fake'] : round % 3 === 1 ? ['fake', `extra-${round}`] : ['fake', 'another'];
    const target = round % 2 === 0 ? 'fake/fake-large' : 'fake/fake-small';
    await gateway.applyConfig({ ...providersFile(...names), ...aliasFile(target, `round ${round}`) });
  }
  stopped.release();
  const seconds = await load;
  end.release();
  const received = await Promise.all(streams);

  const failures = outcomes.filter(({ status }) => status !== 200);
  const times = outcomes.map(({ ms }) => ms).sort((a, b) => a - b);
  const p99 = times[Math.floor(times.length * 0.99)] ?? 0;
  t.comment(
    `${outcomes.length} requests and 20 streams over ${reloads} reloads in ${seconds.toFixed(1)} s, p99 ${p99.toFixed(0)} ms`,
  );
  t.same(failures, [], 'no request is lost');
  t.ok(launched / seconds > requestsPerSecond / 1.5, 'the load was what it claims to be');
  const texts = new Set(received.map(({ text }) => text));
  t.ok(
    talks.every(({ said }) => texts.has(said.join(''))),
    'every stream came through byte for byte, to its end',
  );
  t.same([...new Set(received.map(({ status }) => status))], [200]);
  const success = (await configMetrics()).success - before.success;
  t.ok(success >= reloads, `${success} reloads`);
  await waitFor('no request in flight', async () => (await gateway.metric('gateway_requests_in_flight')) === 0);
});

await test('an edit is live within a second', async (t) => {
  const delays: number[] = [];
  const slowdown = watchSlowdown(gateway.process);
  for (let round = 0; round < extent(10, 4); round += 1) {
    const model = round % 2 === 0 ? 'fake-large' : 'fake-small';
    const writtenAtMs = performance.now();
    // Alternately the way an editor saves, by rename, and in place.
    if (round % 4 < 2) gateway.writeConfig(aliasFile(`fake/${model}`, `${round}`));
    else writeFileSync(join(gateway.configDir, 'aliases.yaml'), aliasFile(`fake/${model}`, `${round}`)['aliases.yaml']);
    await waitFor(`the alias to lead to ${model}`, async () => (await ask('chat')).model === model);
    delays.push(performance.now() - writtenAtMs);
  }
  const sorted = delays.sort((a, b) => a - b);
  t.comment(`live after ${sorted.map((ms) => ms.toFixed(0)).join(', ')} ms`);
  t.ok((sorted.at(-1) ?? 0) < 1000 * slowdown());
});

await test('a stream outlives its provider; new requests do not find it', async (t) => {
  await gateway.applyConfig(providersFile('fake', 'leaving'));
  const gate = createGate();
  await upstream.behave([{ kind: 'sse', chunks: [firstEvent, gate, lastEvent] }]);
  const connection = await openRaw(gateway.port, { t });
  await connection.send(chatCall({ model: 'leaving/fake-small', stream: true }));
  await connection.waitFor(({ responses }) => responses[0]?.text() === firstEvent);

  await gateway.applyConfig(providersFile('fake'));
  t.match(await ask('leaving/fake-small'), { status: 404, code: 'model_not_found' });
  t.match(await ask('fake/fake-small'), { status: 200 });
  t.equal(connection.exchange().responses[0]?.complete, false, 'the stream is still open');
  gate.release();
  const answer = await connection.waitFor(({ responses }) => responses[0]?.complete && responses[0]);
  t.equal(answer.text(), firstEvent + lastEvent);
});

await test('a bad edit changes nothing but a gauge, a counter and one log line per mistake', async (t) => {
  t.match(atStart, { success: 0, failure: 0, lastSuccessful: 1 });
  t.ok(Math.abs(atStart.lastSuccessSeconds - Date.now() / 1000) < 60);
  t.match(atStart.info, /^gateway_config_info\{revision="[0-9a-f]{12}",source="directory"\} 1$/);
  const start = await restoreConfig();
  const loggedBefore = errorsOf(gateway.process.logs()).length;
  const newErrors = () => errorsOf(gateway.process.logs()).slice(loggedBefore);
  t.ok(Math.abs(start.lastSuccessSeconds - Date.now() / 1000) < 60);
  t.match(await readinessOf(gateway), { http: 200, status: 'ready', reasons: [] });

  gateway.writeConfig({ 'aliases.yaml': badFile });
  const bad = await untilConfig({ failure: start.failure + 1 });
  t.same(bad, { ...start, failure: start.failure + 1, lastSuccessful: 0 });
  t.match(await readinessOf(gateway), { http: 200, status: 'degraded', reasons: ['config_rejected'] });
  t.match(await ask('chat'), { status: 200, model: 'fake-small' });
  const errors = newErrors();
  t.equal(errors.length, 2, 'one line for each of two mistakes');
  t.match(errors[0], /aliases\.yaml:3:\d+ {2}aliases\[0\]\.target {2}/);
  t.match(errors[1], /aliases\.yaml:5:\d+ {2}aliases\[1\]\.target {2}/);

  gateway.writeConfig({ 'aliases.yaml': `${badFile}# still bad, but another file\n` });
  await untilConfig({ success: start.success, failure: start.failure + 2 });
  gateway.writeConfig(aliasFile('fake/fake-small'));
  const back = await untilConfig({ success: start.success + 1, failure: start.failure + 2 });
  t.equal(back.info, start.info, 'the old content is the old revision');
  t.equal(back.lastSuccessful, 1);
  t.ok(back.lastSuccessSeconds >= start.lastSuccessSeconds);
  t.match(await readinessOf(gateway), { http: 200, status: 'ready', reasons: [] });

  gateway.writeConfig(aliasFile('fake/fake-large', 'second'));
  const next = await untilConfig({ success: start.success + 2, failure: start.failure + 2 });
  t.not(next.info, start.info);
  t.match(await ask('chat'), { model: 'fake-large' });
  t.equal(newErrors().length, 4, 'and no further error was logged');
});

await test('an edit of the YAML cannot make the gateway show its master key', async (t) => {
  const start = await restoreConfig();
  const loggedBefore = errorsOf(gateway.process.logs()).length;
  const own = `\${GATEWAY_MASTER_KEY}`;
  const limits = [{ period: 'day', max_requests: 9 }];
  gateway.writeConfig({
    'providers.yaml': { providers: { fake: { ...providerConfig, models: [own], headers: { 'x-key': own } } } },
    'aliases.yaml': { aliases: [{ source: own, target: 'fake/fake-small' }] },
    'limits.yaml': { rate_limits: { user_paths: [{ path: `/${own}`, limits }], models: [{ model: own, limits }] } },
  });
  await untilConfig({ success: start.success, failure: start.failure + 1 });
  const errors = errorsOf(gateway.process.logs()).slice(loggedBefore).join('\n');
  const places = ['models[0]', 'headers.x-key', 'aliases[0].source', 'user_paths[0].path', 'rate_limits.models[0]'];
  const unnamed = places.filter((place) => !errors.includes(place));
  t.same(unnamed, [], 'each place of the variable is named');
  const shown = [await (await gateway.fetch('/v1/models')).text(), await gateway.metrics(), ...gateway.process.stdout];
  t.match(shown[0], 'fake-small');
  t.notOk(shown.some((text) => text.includes(gateway.masterKey)));
});

await test('SIGHUP looks at once, without the patience that half a save is given', async (t) => {
  const { failure } = await restoreConfig();
  gateway.writeConfig({ 'aliases.yaml': badFile });
  const writtenAtMs = performance.now();
  gateway.process.signal('SIGHUP');
  await untilConfig({ failure: failure + 1 });
  const tookMs = performance.now() - writtenAtMs;
  t.comment(`judged ${tookMs.toFixed(0)} ms after SIGHUP`);
  t.ok(tookMs < 650, 'before that patience could have ended');
  t.ok(gateway.process.running);
});

await test('a restart with a bad file starts on the last good one and says so', async (t) => {
  await restoreConfig();
  await gateway.applyConfig(aliasFile('fake/fake-large'));
  const { info } = await configMetrics();
  gateway.writeConfig({ 'aliases.yaml': badFile });
  await gateway.restart();
  t.match(await readinessOf(gateway), { http: 200, status: 'degraded' });
  t.ok((await readinessOf(gateway)).reasons.includes('config_last_good'));
  t.match(await ask('chat'), { status: 200, model: 'fake-large' });
  const metrics = await configMetrics();
  t.equal(metrics.info, info.replace('source="directory"', 'source="last-good"'));
  t.equal(metrics.lastSuccessful, 0);
  t.match(
    gateway.process
      .logs()
      .map(({ msg }) => msg)
      .join('\n'),
    /aliases\.yaml:3:\d+ {2}aliases\[0\]\.target/,
  );

  gateway.writeConfig(aliasFile('fake/fake-small'));
  await waitFor('the repaired file to be in force', async () => (await readinessOf(gateway)).status === 'ready');
  t.match(await ask('chat'), { status: 200, model: 'fake-small' });
});

await test('a very first start with bad config ends with all its mistakes on stderr', async (t) => {
  const refused = await startGateway(t, {
    files: { ...providersFile('fake'), 'aliases.yaml': badFile },
    ready: 'spawned',
  });
  t.same(await refused.process.exited, { code: 1, signal: null });
  const said = refused.process.stderr.map((line) => JSON.parse(line));
  const words = (at: number, index: number): object => ({
    level: 'fatal',
    service: 'model-gateway',
    file: /aliases\.yaml$/,
    line: at,
    column: Number,
    path: `aliases[${index}].target`,
    msg: new RegExp(`^proxy cannot start: .*aliases\\.yaml:${at}:\\d+ {2}aliases\\[${index}\\]\\.target {2}`),
  });
  t.match(said, [words(3, 0), words(5, 1)]);
  t.notMatch(refused.process.stdout.join('\n'), /"listening"/);
});

await test('a missing entitlement ends a start, whatever was good before, and is refused by a reload', async (t) => {
  const template = {
    'limits.yaml': {
      rate_limits: {
        user_paths: [{ path: '/team', per_child: true, limits: [{ period: 'minute', max_requests: 9 }] }],
      },
    },
  };
  const { success, failure } = await restoreConfig();
  gateway.writeConfig(template);
  await untilConfig({ success, failure: failure + 1 });
  t.match(await ask('fake/fake-small'), { status: 200 });
  t.match(await readinessOf(gateway), { http: 200, status: 'degraded' });

  await gateway.restart({ GATEWAY_ENTITLEMENTS: 'quota_templates' });
  t.match(await readinessOf(gateway), { status: 'ready' });
  t.teardown(() => gateway.writeConfig(firstFiles));
  const saidBefore = gateway.process.stderr.length;
  await t.rejects(gateway.restart({ GATEWAY_ENTITLEMENTS: undefined }));
  t.same(await gateway.process.exited, { code: 1, signal: null });
  t.match(gateway.process.stderr.slice(saidBefore).join('\n'), /limits\.yaml:\d+:\d+ .*per_child.*quota_templates/);
});

await test('a variable that cannot be understood ends the start and is named without its value', async (t) => {
  const wrong = {
    LOG_LEVEL: 'canary-loud',
    USAGE_ENABLED: 'canary-perhaps',
    GATEWAY_PORT: 'canary-80',
    GATEWAY_ENTITLEMENTS: 'canary-all',
    GATEWAY_INSTANCE: 'canary-/etc',
    GATEWAY_HOST: 'canary-/80',
    GATEWAY_MASTER_KEY: 'canary- with a blank',
  };
  const names = Object.keys(wrong);
  const right = { ...Object.fromEntries(names.map((name) => [name, undefined])), GATEWAY_PORT: '0' };
  const key = { GATEWAY_MASTER_KEY: gateway.masterKey };
  // The readers of all variables have their own test; a short run starts one process, with all of them.
  for (const [name, value] of Object.entries(wrong).slice(0, extent(Infinity, 0))) {
    await t.rejects(
      gateway.restart({ ...right, ...key, [name]: value }),
      `${name}, although there is a last good config`,
    );
    if (gateway.process.running) continue;
    t.same(await gateway.process.exited, { code: 1, signal: null });
    t.match(gateway.process.stderr.at(-1), name);
  }
  const before = gateway.process.stderr.length;
  await t.rejects(gateway.restart(wrong), 'although there is a last good config');
  t.same(await gateway.process.exited, { code: 1, signal: null });
  const said = gateway.process.stderr.slice(before);
  t.equal(said.length, names.length, 'all of them at once');
  t.same(
    names.filter((name) => !said.some((line) => line.includes(name))),
    [],
    'each of them by its name',
  );
  t.notMatch([...gateway.process.stderr, ...gateway.process.stdout].join('\n'), /canary-/);
});
