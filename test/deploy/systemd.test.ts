// The units of systemd: they agree with the gateway's own settings, and systemd finds nothing wrong with them and few rights in them.
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { defaultConfig } from '../../gitops/read/validate.ts';
import manifest from '../../package.json' with { type: 'json' };
import { environmentVariables } from '../../schemas/environment-variables.ts';
import { durationMs } from '../../schemas/formats/units.ts';
import { commandsOf } from '../support/pages.ts';
import { findProgram } from '../support/programs.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const top = join(import.meta.dirname, '../..');
const folder = join(top, 'deploy/systemd');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
const planes = ['proxy', 'control-plane'] as const;
const unitOf = (plane: string): string => `model-gateway-${plane}.service`;
/** The most that `systemd-analyze security` may count, of 10: what a network service without rights has. */
const mostExposure = 2.5;

await test('each unit starts its plane as npm does, and waits for it as long as it may take to end', async (t) => {
  for (const plane of planes) {
    const [, ...words] = manifest.scripts[plane].split(' ');
    const flags = words.filter((word) => word.startsWith('--'));
    const started = ['/opt/model-gateway/bin/node', ...flags, `/opt/model-gateway/${plane}.js`].join(' ');
    t.equal(/^ExecStart=(.*)$/m.exec(read(unitOf(plane)))?.[1], started);
  }
  // A proxy with workers kills those that have not drained ten seconds after the grace.
  const longest = durationMs(defaultConfig().server.shutdown_grace) / 1_000 + 10;
  t.ok(Number(/^TimeoutStopSec=(\d+)s$/m.exec(read(unitOf('proxy')))?.[1]) > longest);
});

await test('the variables of the units are those of the gateway and of Node', async (t) => {
  const known = new Set([...environmentVariables.map(({ name }) => name), 'NODE_COMPILE_CACHE']);
  const set = [...read('model-gateway-.service.d/both-planes.conf').matchAll(/^Environment=(\w+)=/gm)];
  t.ok(set.length > 0);
  t.same(
    set.map(([, name = '']) => name).filter((name) => !known.has(name)),
    [],
  );
});

await test('the commands of docs/deploying-on-a-machine.md name files that are there', async (t) => {
  const text = commandsOf('docs/deploying-on-a-machine.md').map((commands) => commands.text);
  const named = text.join('').matchAll(/\b(?:deploy|examples)\/\S+/g);
  const missing = [...named].map(([path]) => path).filter((path) => globSync(path, { cwd: top }).length === 0);
  t.same(missing, []);
  t.match(text.join(''), /systemctl enable --now model-gateway-control-plane model-gateway-proxy$/m);
});

await test('systemd reads the units and counts few rights', async (t) => {
  const analyze = findProgram('systemd-analyze');
  if (analyze === undefined) {
    t.comment('systemd-analyze is not installed, so this is not checked; on Debian: apt-get install systemd');
    return;
  }
  // A copy with a program that is there: systemd looks for it.
  const copy = temporaryDirectory(t, 'units');
  cpSync(folder, copy, { recursive: true });
  for (const plane of planes) {
    const started = read(unitOf(plane)).replace('/opt/model-gateway/bin/node', process.execPath);
    writeFileSync(join(copy, unitOf(plane)), started);
  }
  const units = planes.map((plane) => join(copy, unitOf(plane)));
  const run = (...args: string[]) => spawnSync(analyze, ['--no-pager', ...args], { encoding: 'utf8' });
  const { status, stderr } = run('verify', '--man=no', ...units);
  t.match({ status, stderr }, { status: 0, stderr: '' });
  for (const unit of units) {
    const { stdout } = run('security', '--offline=true', unit);
    t.ok(Number(/Overall exposure level for .*: ([\d.]+)/.exec(stdout)?.[1]) < mostExposure, stdout.slice(-80));
  }
});
