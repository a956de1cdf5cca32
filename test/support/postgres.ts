// A real PostgreSQL server for the tests of a file: on a socket in a directory of its own, with a database for each test, killed and restarted.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from 'pg';
import { needProgram } from './programs.ts';
import { type Teardown, temporaryDirectory } from './teardown.ts';
import { waitFor } from './wait-for.ts';

/** Stopped with the test process itself, whatever happens to teardowns. */
const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGQUIT');
});

export interface PostgresServer {
  /** The address of a new, empty database. */
  database(): Promise<string>;
  /** Runs SQL with a connection of its own. */
  query(url: string, sql: string): Promise<readonly Record<string, unknown>[]>;
  /** SIGKILL, then the exit. */
  kill(): Promise<void>;
  /** Starts it again on the same files. */
  restart(): Promise<void>;
  /** SIGSTOP to every process of it: connections stay open, and nothing is answered. */
  freeze(): void;
  thaw(): void;
}

/** The server refuses to run as root; then it runs as its own user, or as nobody. */
const owner = process.getuid?.() === 0 ? ownerOf(['postgres', 'nobody']) : undefined;

function ownerOf(names: readonly string[]): { readonly uid: number; readonly gid: number } {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const found = names.map((name) => users.find(([user]) => user === name)).find((user) => user !== undefined);
  if (found === undefined) throw new Error(`none of the users ${names.join(', ')} is in /etc/passwd`);
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

/** Starts a server that is gone when the test ends; ready when this resolves. */
export async function startPostgres(t: Teardown): Promise<PostgresServer> {
  const binary = needProgram('postgres', 'postgresql');
  const directory = temporaryDirectory(t, 'gateway-postgres');
  const files = join(directory, 'data');
  cpSync(templateCluster(), files, { recursive: true, preserveTimestamps: true });
  if (owner !== undefined) execFileSync('chown', ['-R', `${owner.uid}:${owner.gid}`, directory]);
  const addressOf = (name: string): string => `postgresql://gateway@localhost/${name}?host=${directory}`;
  let child = await run();
  let databases = 0;
  t.teardown(() => end('SIGQUIT'));

  return {
    async database() {
      databases += 1;
      await query(addressOf('postgres'), `CREATE DATABASE test_${databases} STRATEGY file_copy`);
      return addressOf(`test_${databases}`);
    },
    query,
    kill: () => end('SIGKILL'),
    async restart() {
      child = await run();
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
  };

  /** Backends of a server that was killed may still hold its memory for a moment: then it is started again. */
  async function run(): Promise<ChildProcess> {
    const settings = ['fsync=off', 'listen_addresses=', `unix_socket_directories=${directory}`, 'shared_buffers=64MB'];
    const args = ['-D', files, ...settings.flatMap((setting) => ['-c', setting])];
    return waitFor('PostgreSQL to be ready', async () => {
      const server = spawn(binary, args, { stdio: ['ignore', 'ignore', 'pipe'], ...owner });
      alive.add(server);
      server.once('exit', () => alive.delete(server));
      let log = '';
      server.stderr?.setEncoding('utf8').on('data', (text: string) => {
        log += text;
      });
      await waitFor(
        'PostgreSQL to start or to end',
        () => hasEnded(server) || log.includes('ready to accept connections'),
      );
      if (!hasEnded(server)) return server;
      if (!/pre-existing shared memory|lock file/.test(log)) throw new Error(`PostgreSQL did not start:\n${log}`);
      return undefined;
    });
  }

  async function end(name: NodeJS.Signals): Promise<void> {
    if (hasEnded(child)) return;
    const exited = new Promise((done) => {
      child.once('exit', done);
    });
    signal('SIGCONT');
    child.kill(name);
    await exited;
  }

  function signal(name: NodeJS.Signals): void {
    const { pid = 0 } = child;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    process.kill(pid, name);
    for (const each of children) {
      try {
        process.kill(Number(each), name);
      } catch (error) {
        // A connection that was closed just now has ended its backend.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  }
}

/** Runs SQL with a connection of its own. */
export async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Files of an empty server, made once for a version: making them takes a second, copying them a tenth. */
function templateCluster(): string {
  const initdb = needProgram('initdb', 'postgresql');
  const version = execFileSync(initdb, ['--version'], { encoding: 'utf8' }).replace(/[^\d.]+/g, '-');
  const cache = resolve(import.meta.dirname, '../../node_modules/.cache');
  const template = join(cache, `postgres${version}`);
  if (existsSync(template)) return template;
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(join(tmpdir(), 'gateway-initdb-'));
  try {
    if (owner !== undefined) chownSync(fresh, owner.uid, owner.gid);
    const local = ['--no-sync', '-A', 'trust', '-U', 'gateway', '-E', 'UTF8', '--locale=C'];
    execFileSync(initdb, ['-D', join(fresh, 'data'), ...local], { stdio: 'pipe', ...owner });
    const staged = mkdtempSync(join(cache, 'postgres-staged-'));
    cpSync(join(fresh, 'data'), join(staged, 'data'), { recursive: true });
    // Another test may have been faster; then its directory is in place, and not empty.
    if (!existsSync(template)) renameSync(join(staged, 'data'), template);
    rmSync(staged, { recursive: true, force: true });
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  if (readdirSync(template).length === 0) throw new Error(`${template} is empty: remove it`);
  return template;
}
