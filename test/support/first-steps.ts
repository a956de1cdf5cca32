// Runs the first steps of the README: `npm start`, then the printed curl, and checks that an answer streams.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './ports.ts';

const deadlineMs = 30_000;
const data = mkdtempSync(join(tmpdir(), 'first-steps-'));
const ports = {
  GATEWAY_PORT: String(await freePort()),
  GATEWAY_ADMIN_PORT: String(await freePort()),
  DEMO_PROVIDER_PORT: String(await freePort()),
};
const child = spawn('npm', ['start'], {
  env: { ...process.env, ...ports, GATEWAY_DATA: data },
  stdio: ['ignore', 'pipe', 'inherit'],
  detached: true,
});
let output = '';
child.stdout.on('data', (chunk: Buffer) => {
  output += chunk.toString();
});
const exited = once(child, 'exit');

async function printedCurl(): Promise<string> {
  const until = performance.now() + deadlineMs;
  while (performance.now() < until && child.exitCode === null) {
    const command = /^ *curl (?:.*\\\n)*.*$/m.exec(output)?.[0];
    if (command !== undefined && output.endsWith('\n')) return command;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`npm start printed no curl within ${deadlineMs} ms:\n${output}`);
}

let failure: unknown;
try {
  const command = await printedCurl();
  const { stdout } = await promisify(execFile)('bash', ['-c', command], { timeout: deadlineMs });
  if (!stdout.includes('data: {') || !stdout.includes('data: [DONE]'))
    throw new Error(`no streamed answer:\n${stdout}`);
  process.stdout.write(`npm start answered the printed curl with ${stdout.split('data: ').length - 1} events\n`);
} catch (error) {
  failure = error;
}
// The whole group, as Ctrl-C in a terminal does.
if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
await exited;
rmSync(data, { recursive: true, force: true });
if (failure !== undefined) throw failure;
