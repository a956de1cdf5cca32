// Both planes without a master key: requests of this machine are served, those of foreign web pages are refused.
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { freePort, startProcess } from '../support/process.ts';
import { rawRequest } from '../support/raw-http.ts';
import { temporaryDirectory } from '../support/teardown.ts';

/** Everything below a directory that its owner's group or others may read, with its mode. */
function openToOthers(directory: string): string[] {
  const paths = [
    directory,
    ...readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) => join(directory, name)),
  ];
  return paths.flatMap((path) => {
    // A file that is being written has another name until it is complete.
    const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
    return (mode & 0o077) === 0 ? [] : [`${path} ${mode.toString(8)}`];
  });
}

await test('without a master key a foreign page neither reaches a plane by its own name nor writes across origins', async (t) => {
  const home = temporaryDirectory(t);
  const dataDirectory = join(home, 'data');
  // A directory from before, and a loose umask, which the planes inherit.
  const umask = process.umask(0);
  mkdirSync(join(dataDirectory, 'control-plane'), { recursive: true });
  const env = { GATEWAY_MASTER_KEY: '', GATEWAY_INSECURE: 'true', GATEWAY_DATA: dataDirectory };
  const upstream = await startFakeUpstream({ t });
  const controlPlane = await startProcess({
    t,
    entry: 'control-plane/main.ts',
    env: {
      ...env,
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_CONFIG: join(import.meta.dirname, '../../examples/quickstart/config'),
    },
  });
  const metricsPort = await freePort();
  const gateway = await startGateway(t, {
    home,
    upstream,
    env: { ...env, GATEWAY_CONTROL_PLANE_URL: controlPlane.address, GATEWAY_METRICS_PORT: String(metricsPort) },
  });
  process.umask(umask);
  const chat = JSON.stringify({ model: 'fake/fake-small', messages: [{ role: 'user', content: 'say hello' }] });
  const rule = JSON.stringify({ user_path: '/a', limit_key: { period: 'minute' }, max_requests: 1 });
  const adminPort = Number(new URL(controlPlane.address).port);
  const doors: [claim: string, port: number, line: string, body: string][] = [
    ['a model request', gateway.port, 'POST /v1/chat/completions', chat],
    ['an admin request through the proxy', gateway.port, 'PUT /admin/rate-limits', rule],
    ['an admin request', adminPort, 'PUT /admin/rate-limits', rule],
  ];
  for (const [claim, port, line, body] of doors) {
    const ask = async (host: string, lines = ''): Promise<unknown> => {
      const head = `${line} HTTP/1.1\r\nHost: ${host}\r\n${lines}Content-Type: application/json\r\n`;
      const sent = `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
      const { responses } = await rawRequest(port, sent);
      return `${responses[0]?.status} ${/foreign_\w+/.exec(responses[0]?.text() ?? '')?.[0] ?? ''}`;
    };
    t.equal(await ask(`localhost:${port}`), '200 ', `${claim} from this machine`);
    t.equal(
      await ask(`localhost:${port}`, `Origin: http://localhost:${port}\r\n`),
      '200 ',
      `${claim} from an own page`,
    );
    t.equal(await ask('evil.test'), '403 foreign_host', `${claim} by a foreign name that resolves to this machine`);
    t.equal(
      await ask(`localhost:${port}`, 'Origin: http://evil.test\r\n'),
      '403 foreign_origin',
      `${claim} across origins`,
    );
  }
  for (const port of [gateway.port, adminPort, metricsPort]) {
    const { responses } = await rawRequest(port, 'GET /metrics HTTP/1.1\r\nHost: evil.test\r\n\r\n');
    t.equal(responses[0]?.status, 403, 'and it reads nothing');
  }
  t.equal((await fetch(`http://localhost:${metricsPort}/metrics`)).status, 200);
  t.same(openToOthers(dataDirectory), [], 'and nothing that the planes keep can be read by other users');
});
