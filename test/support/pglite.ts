// A PostgreSQL with pgvector for the tests of a file, where the real one has no such extension: PGlite, in a process of its own.
import { type PostgresServer, query, startPostgres } from './postgres.ts';
import { startProcess } from './process.ts';
import { type Teardown, temporaryDirectory } from './teardown.ts';

/** What both have. */
export type VectorPostgres = Pick<PostgresServer, 'database' | 'query' | 'kill' | 'restart' | 'freeze' | 'thaw'>;

/** The real server if it has pgvector, or else PGlite, which forgets its databases when it is restarted. */
export async function startVectorPostgres(t: Teardown): Promise<VectorPostgres> {
  return (await realVectors(t)) ?? (await startPglite(t));
}

async function realVectors(t: Teardown): Promise<PostgresServer | undefined> {
  const server = await startPostgres(t);
  const sql = `SELECT 1 FROM pg_available_extensions WHERE name = 'vector'`;
  const available = await server.query(await server.database(), sql);
  return available.length > 0 ? server : undefined;
}

async function startPglite(t: Teardown): Promise<VectorPostgres> {
  const directory = temporaryDirectory(t, 'gateway-pglite');
  const server = await startProcess({
    t,
    entry: 'test/support/pglite-process.ts',
    args: [directory],
    // To compile it well takes longer than what tests ask of it.
    execArgv: ['--liftoff-only'],
  });
  const url = `postgresql://gateway@localhost/test?host=${directory}`;
  return {
    // To make another takes a second: the one that is there is emptied, and the tests of a file come in turn.
    async database() {
      await query(url, 'DROP SCHEMA IF EXISTS gateway_cache CASCADE; DROP EXTENSION IF EXISTS vector');
      return url;
    },
    query,
    async kill() {
      await server.kill();
    },
    restart: () => server.restart(),
    freeze: () => server.signal('SIGSTOP'),
    thaw: () => server.signal('SIGCONT'),
  };
}
