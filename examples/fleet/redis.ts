// Starts a Redis server for the fleet on a free port, with its data in a folder. `redis.ts DIRECTORY`
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

const [, , directory = '.'] = process.argv;

/** A port that was free a moment ago, because Redis cannot choose one. */
async function freePort(): Promise<number> {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

function explain(error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') return `redis-server cannot be started: ${error.message}`;
  return [
    'redis-server is not installed. Install it (Debian: apt-get install redis-server, macOS: brew install redis),',
    'or set REDIS_URL to a running Redis: REDIS_URL=redis://127.0.0.1:6379',
  ].join('\n');
}

mkdirSync(directory, { recursive: true, mode: 0o700 });
const port = await freePort();
const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', directory];
// The append-only file saves every write, so that overrides survive a restart. Snapshots would write it twice.
const server = spawn('redis-server', [...place, '--appendonly', 'yes', '--save', ''], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
server.on('error', (error) => {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
});
server.on('exit', (code) => process.exit(code ?? 1));
let stopping = false;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    // A second signal stops Redis at once.
    server.kill(stopping ? 'SIGKILL' : 'SIGTERM');
    stopping = true;
  });
}
createInterface({ input: server.stdout }).on('line', (line) => {
  if (!line.includes('Ready to accept connections')) return;
  const address = `redis://127.0.0.1:${port}`;
  process.stdout.write(`${JSON.stringify({ level: 'info', name: 'redis', msg: 'listening', address })}\n`);
});
