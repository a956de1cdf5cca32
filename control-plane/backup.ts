// `model-gateway backup DIR`: copies what the gateway keeps in GATEWAY_DATA, while it runs.
import { resolve } from 'node:path';
import { timestamp } from '../domain/timestamp.ts';
import manifest from '../package.json' with { type: 'json' };
import type { Elsewhere } from '../store/backup/databases.ts';
import { makeBackup } from '../store/backup/make-backup.ts';
import { elsewhereOf, type Outcome, readDirectoryArgument, sentence } from './directory-command.ts';
import { callerDirectory, type DataPlaces, readDataPlaces } from './environment.ts';

const usage = 'usage: model-gateway backup DIR';
const help = `${usage}

Copies the databases of GATEWAY_DATA and the records that wait beside them into DIR, while the gateway runs or not: rules, keys, counters,
usage and audit records, stored responses. DIR/manifest.json, written last, lists the files with their SHA-256. It holds no master key and no
YAML, and nothing of what lies in Redis (REDIS_URL) or PostgreSQL (DATABASE_URL).

  DIR     a new or an empty directory

exit code: 0 made; 1 it cannot be made, and nothing of it is left; 2 the command itself is wrong`;

/** Copies of what is not in the data directory are made with the programs of its database. */
const ofOthers: Readonly<Record<Elsewhere, (folder: string) => string>> = {
  redis: (folder) =>
    `not in it: rules, keys, counters and stored responses lie in Redis; copy them with redis-cli -u "$REDIS_URL" --rdb ${folder}/redis.rdb, or with BGSAVE on its machine`,
  postgres: (folder) =>
    `not in it: usage and audit records lie in PostgreSQL; copy them with pg_dump --format=custom --file=${folder}/records.dump "$DATABASE_URL"`,
};

/** Paths are relative to `from`. Never rejects for what a person can mend. */
export async function backupCommand(
  args: readonly string[],
  places: DataPlaces,
  { from, nowMs }: { readonly from: string; readonly nowMs: number },
): Promise<Outcome> {
  const argument = readDirectoryArgument(args, usage, help);
  if (typeof argument !== 'string') return argument;
  const folder = resolve(from, argument);
  const elsewhere = elsewhereOf(places);
  const notes = [...elsewhere].map((place) => ofOthers[place](folder));
  if (elsewhere.size === 2)
    return { output: ['there is nothing to copy in GATEWAY_DATA', ...notes].join('\n'), code: 1 };
  try {
    const { files } = await makeBackup({
      dataDirectory: places.dataDirectory,
      folder,
      elsewhere,
      version: manifest.version,
      time: timestamp(nowMs),
    });
    const lines = [`${folder} holds a backup of ${places.dataDirectory}:`, ...files.map(sentence), ...notes];
    return {
      output: [...lines, 'keep the master key apart from it: without the key, rules and keys are not in force'].join(
        '\n',
      ),
      code: 0,
    };
  } catch (error) {
    return { output: error instanceof Error ? error.message : String(error), code: 1 };
  }
}

if (import.meta.main) {
  const { output, code } = await backupCommand(process.argv.slice(2), readDataPlaces(), {
    from: callerDirectory(),
    nowMs: Date.now(),
  });
  process.stdout.write(`${output}\n`);
  process.exitCode = code;
}
