// What Argo CD runs after a sync: it ends well once every proxy has the mounted configuration, and says why when that takes too long.
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { listen } from '../support/ports.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const script = join(import.meta.dirname, '../../deploy/chart/files/wait-until-converged.js');
const behind = { instance: 'gateway-proxy-1:8080', live: true, converged: false, last_config_error: null };
const there = { ...behind, converged: true };

interface Status {
  readonly converged: boolean;
  readonly desired: { readonly config_revision: string };
  readonly last_rejected_config: object | null;
  readonly proxies: readonly object[];
}
const status = (
  revision: string,
  proxies: readonly { converged: boolean }[],
  rejected: object | null = null,
): Status => ({
  converged: proxies.every(({ converged }) => converged),
  desired: { config_revision: revision },
  last_rejected_config: rejected,
  proxies,
});

/** Runs the script where the control plane gives these answers in turn, the last one again and again. */
async function wait(t: Test, answers: (revision: string) => readonly Status[], seconds: number) {
  const folder = temporaryDirectory(t, 'converged');
  const config = join(folder, 'config');
  mkdirSync(config);
  writeFileSync(join(config, 'gateway.yaml'), 'server: {shutdown_grace: 20s}\n');
  writeFileSync(join(folder, 'key'), 'sk-master-0123456789\n');
  // In place of `model-gateway check`.
  const program = join(folder, 'program.mjs');
  writeFileSync(program, "console.log(process.argv[3] + ': ok, 1 files, revision 0a1b2c');");
  const left = [...answers('0a1b2c')];
  const server = createServer((request, response) => {
    const isRight = request.url === '/admin/status' && request.headers.authorization === 'Bearer sk-master-0123456789';
    response.writeHead(isRight ? 200 : 401).end(JSON.stringify(left.length > 1 ? left.shift() : left[0]));
  });
  t.teardown(() => server.close());
  const env = {
    CONFIG: config,
    CONTROL_PLANE: `http://127.0.0.1:${await listen(server)}`,
    KEY_FILE: join(folder, 'key'),
    PROGRAM: program,
    WAIT_SECONDS: String(seconds),
  };
  return new Promise<{ code: number; said: string }>((resolve) => {
    const child = execFile(process.execPath, [script], { env }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, said: stdout + stderr }),
    );
  });
}

await test('it waits until the control plane and every proxy have the revision that is mounted', async (t) => {
  const run = await wait(
    t,
    (revision) => [status('before', [there]), status(revision, [there, behind]), status(revision, [there, there])],
    30,
  );
  t.same(run, { code: 0, said: 'every proxy has the configuration 0a1b2c\n' });
});

await test('when the time is over it says which proxy is behind, and what was rejected', async (t) => {
  const rejected = { file: 'gateway.yaml' };
  const { code, said } = await wait(t, (revision) => [status(revision, [there, behind], rejected)], 0);
  t.equal(code, 1);
  t.match(said, /a configuration was rejected: \{"file":"gateway\.yaml"\}\ngateway-proxy-1:8080 is behind\n/);
  t.match((await wait(t, () => [status('before', [there])], 0)).said, /has the configuration before, not yet 0a1b2c/);
});
