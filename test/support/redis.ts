// A real Redis server for one test: started on a free port, frozen, killed, and restarted on the same files.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort, listen } from './ports.ts';
import { needProgram } from './programs.ts';
import { type Teardown, temporaryDirectory } from './teardown.ts';
import { waitFor } from './wait-for.ts';

/** Killed with the test process itself, whatever happens to teardowns. */
const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

export interface RedisServerOptions {
  /** Keeps what is written in an append-only file, so that it survives a kill. Default false. */
  appendOnly?: boolean;
  /** Of the default user. */
  password?: string;
  /** Lines of an ACL file, for example `user gateway on >secret ~{gateway}:* +@all`. */
  users?: readonly string[];
  /** TLS only, with a certificate of a separate authority, or with those given; `mutual`: clients must show one, too. */
  tls?: boolean | 'mutual' | TlsFiles;
  /** The configuration of a sentinel, as a file that it may write to. */
  sentinel?: string;
  /** More arguments of redis-server, for example `--maxmemory`, `2mb`. */
  args?: readonly string[];
}

/** Certificates of a separate authority for 127.0.0.1, as files of a directory and as texts in PEM. */
export interface TlsFiles {
  readonly directory: string;
  readonly ca: string;
  /** Of a client, and its key. */
  readonly cert: string;
  readonly key: string;
  /** Another certificate of a client. */
  issue(name: string): { readonly cert: string; readonly key: string };
}

export interface RedisServer {
  readonly port: number;
  /** Without credentials. */
  readonly url: string;
  /** The certificate of the authority, when it speaks TLS. */
  readonly authority: string | undefined;
  readonly tls: TlsFiles | undefined;
  readonly pid: number;
  /** What it has logged in all its runs. */
  readonly log: () => string;
  /** A plain connection to it, as the default user or another one, closed with the test. */
  client(username?: string, password?: string): Redis;
  /** SIGTERM, then the exit. */
  stop(): Promise<void>;
  /** SIGKILL, then the exit. */
  kill(): Promise<void>;
  /** SIGSTOP: the system still accepts connections, but the server does not answer. */
  freeze(): void;
  thaw(): void;
  /** Starts it again on the same port and files. */
  restart(): Promise<void>;
}

/** Starts a server that is gone when the test ends; ready when this resolves. */
export async function startRedis(t: Teardown, options: RedisServerOptions = {}): Promise<RedisServer> {
  const binary = needProgram('redis-server');
  const directory = temporaryDirectory(t, 'gateway-redis');
  const { tls: wanted = false } = options;
  const tls = typeof wanted === 'object' ? wanted : wanted ? createCertificates(directory) : undefined;
  if (options.users !== undefined) writeFileSync(join(directory, 'users.acl'), `${options.users.join('\n')}\n`);
  let log = '';
  let child: ChildProcess | undefined;
  let port = 0;

  t.teardown(kill);
  // Another process may take the free port before the server does.
  for (let attempt = 1; child === undefined; attempt += 1) {
    port = await freePort();
    await run().catch((error: unknown) => {
      if (attempt === 5) throw error;
      child = undefined;
    });
  }

  return {
    get pid() {
      return child?.pid ?? -1;
    },
    port,
    url: `${tls === undefined ? 'redis' : 'rediss'}://127.0.0.1:${port}`,
    authority: tls?.ca,
    tls,
    log: () => log,
    client(username, password = options.password) {
      const client = new Redis({
        port,
        host: '127.0.0.1',
        ...(username === undefined ? {} : { username }),
        ...(password === undefined ? {} : { password }),
        ...(tls === undefined ? {} : { tls: { ca: tls.ca, cert: tls.cert, key: tls.key } }),
      });
      client.on('error', () => undefined);
      t.teardown(() => client.disconnect());
      return client;
    },
    stop: () => end('SIGTERM'),
    kill,
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    async restart() {
      await kill();
      await run();
    },
  };

  async function run(): Promise<void> {
    const started = log.length;
    const server = spawn(binary, argumentsOf(options, { directory, port, tls }), { stdio: ['ignore', 'pipe', 'pipe'] });
    child = server;
    alive.add(server);
    server.once('exit', () => alive.delete(server));
    for (const stream of [server.stdout, server.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        log += text;
      });
    }
    await waitFor('redis-server to be ready', () => {
      if (hasEnded(server)) throw new Error(`redis-server did not start:\n${log.slice(started)}`);
      return /Ready to accept connections|Sentinel ID is/.test(log.slice(started));
    });
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const server = child;
    if (server === undefined || hasEnded(server)) return;
    const exited = new Promise((resolve) => {
      server.once('exit', resolve);
    });
    server.kill(signal);
    await exited;
  }

  function kill(): Promise<void> {
    return end('SIGKILL');
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

interface Place {
  readonly directory: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
}

function argumentsOf(options: RedisServerOptions, { directory, port, tls }: Place): string[] {
  const { appendOnly = false, password, users, sentinel, args = [] } = options;
  const files = tls === undefined ? '' : `${tls.directory}/`;
  const isMutual = options.tls === 'mutual' || typeof options.tls === 'object';
  const secure = [
    '--port',
    '0',
    '--tls-port',
    `${port}`,
    '--tls-replication',
    'yes',
    '--tls-ca-cert-file',
    `${files}ca.crt`,
  ];
  const shown = ['--tls-cert-file', `${files}server.crt`, '--tls-key-file', `${files}server.key`];
  const place = ['--bind', '127.0.0.1', '--dir', directory];
  const ports =
    tls === undefined ? ['--port', `${port}`] : [...secure, ...shown, '--tls-auth-clients', isMutual ? 'yes' : 'no'];
  if (sentinel !== undefined) return [sentinel, '--sentinel', ...ports, ...place, ...args];
  // Every write goes to the file before its answer, however slow the disk is: with `everysec` it waits for a flush that takes long.
  const file = appendOnly ? ['--appendonly', 'yes', '--appendfsync', 'no'] : ['--appendonly', 'no'];
  return [
    ...ports,
    ...place,
    '--save',
    '',
    ...file,
    ...(password === undefined ? [] : ['--requirepass', password]),
    ...(users === undefined ? [] : ['--aclfile', join(directory, 'users.acl')]),
    ...args,
  ];
}

/** An authority, a server certificate for 127.0.0.1 and a client certificate signed by it. */
export function createCertificates(directory: string): TlsFiles {
  mkdirSync(directory, { recursive: true });
  const openssl = (...args: string[]): void => {
    execFileSync(needProgram('openssl'), args, { cwd: directory, stdio: 'pipe' });
  };
  const read = (name: string): string => readFileSync(join(directory, name), 'utf8');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.crt', '-days', '2', '-subj', '/CN=Test authority');
  writeFileSync(join(directory, 'names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  const signing = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names'];
  const issue: TlsFiles['issue'] = (name) => {
    openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.crt`, '-days', '2', ...signing);
    return { cert: read(`${name}.crt`), key: read(`${name}.key`) };
  };
  issue('server');
  return { directory, ca: read('ca.crt'), ...issue('client'), issue };
}

export interface Detour {
  readonly url: string;
  /** How late each answer comes; default: at once. Milliseconds. */
  delayMs: () => number;
  /** Whether subscribers hear nothing any more, although they stay connected. */
  isMuted: boolean;
  /** How often something was kept from a subscriber. */
  muted: number;
  /** Whether these bytes of the server are lost, and the connection with them; default: never. */
  loses: (bytes: Buffer | string) => boolean;
  /** Whether these bytes of the server are lost and the connection stays; default: never. */
  swallows: (bytes: Buffer | string) => boolean;
  /** What comes in place of an answer: a head, then its tail again and again, for as long as the connection lasts. */
  flood: { readonly head: string; readonly tail: string } | undefined;
  /** From now on nothing passes on the connections that are open, in either direction, and none is closed; new ones are as good as any. */
  silence(): void;
}

/** Another way to a server, on which answers can be late or lost. */
export async function startDetour(t: Teardown, server: Pick<RedisServer, 'port'>): Promise<Detour> {
  const open = new Set<Socket>();
  let silences = 0;
  const listener = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: server.port, host: '127.0.0.1', noDelay: true });
    let hasSubscribed = false;
    const before = silences;
    let passed: Promise<unknown> = Promise.resolve();
    client.on('data', (bytes) => {
      if (silences > before) return;
      hasSubscribed ||= /\bsubscribe\r/i.test(bytes.toString('latin1'));
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (silences > before) return;
      if (hasSubscribed && detour.isMuted) {
        detour.muted += 1;
        return;
      }
      if (detour.flood !== undefined) {
        pour(client, detour.flood);
        return;
      }
      if (detour.swallows(bytes)) return;
      if (detour.loses(bytes)) {
        client.destroy();
        return;
      }
      const late = setTimeout(detour.delayMs());
      // In order: none overtakes the one before.
      passed = passed.then(() => late).then(() => client.write(bytes));
    });
    for (const [end, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(end);
      end.on('error', () => undefined);
      end.on('close', () => {
        open.delete(end);
        other.destroy();
      });
    }
  });
  const port = await listen(listener);
  t.teardown(() => {
    listener.close();
    for (const socket of open) socket.destroy();
  });
  const detour: Detour = {
    url: `redis://127.0.0.1:${port}`,
    delayMs: () => 0,
    isMuted: false,
    muted: 0,
    loses: () => false,
    swallows: () => false,
    flood: undefined,
    silence() {
      silences += 1;
    },
  };
  return detour;
}

/** Writes as fast as the other end reads, until the connection is gone. */
function pour(client: Socket, { head, tail }: { head: string; tail: string }): void {
  const more = Buffer.from(tail.repeat(Math.ceil(65_536 / tail.length)));
  const write = (): void => {
    while (!client.destroyed && client.write(more));
  };
  client.removeAllListeners('drain').on('drain', write);
  client.write(head);
  write();
}

/** How many connections its server has. */
export async function countClients(client: Redis): Promise<number> {
  return String(await client.client('LIST'))
    .trim()
    .split('\n').length;
}

/** Why tests of vector sets are left out with this server; undefined: it has them. */
export async function withoutVectorSets(server: RedisServer): Promise<string | undefined> {
  const [command] = (await server.client().call('COMMAND', 'INFO', 'VADD')) as readonly unknown[];
  return command === null ? 'redis-server is older than 8 and has no vector sets' : undefined;
}
