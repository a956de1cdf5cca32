// `model-gateway restore DIR`: puts a backup in the place of what a stopped gateway keeps in GATEWAY_DATA.
import { resolve } from 'node:path';
import { timestamp } from '../domain/timestamp.ts';
import { restoreBackup } from '../store/backup/restore-backup.ts';
import { elsewhereOf, type Outcome, readDirectoryArgument, sentence } from './directory-command.ts';
import { callerDirectory, type DataPlaces, readDataPlaces } from './environment.ts';

const usage = 'usage: model-gateway restore DIR';
const help = `${usage}

Puts the backup DIR into GATEWAY_DATA, once every file of it has the SHA-256 that its manifest says. The proxies and the control plane must be
stopped. What is replaced is kept in GATEWAY_DATA/before-restore-TIME. Keys that were revoked since the backup work again.

  DIR     what model-gateway backup has made

exit code: 0 done; 1 it cannot be done, and nothing was changed; 2 the command itself is wrong`;

/** Paths are relative to `from`. Never rejects for what a person can mend. */
export async function restoreCommand(
  args: readonly string[],
  places: DataPlaces,
  { from, nowMs }: { readonly from: string; readonly nowMs: number },
): Promise<Outcome> {
  const argument = readDirectoryArgument(args, usage, help);
  if (typeof argument !== 'string') return argument;
  const { dataDirectory } = places;
  try {
    const folder = resolve(from, argument);
    const elsewhere = elsewhereOf(places);
    const { manifest, files, leftOut, aside } = await restoreBackup({
      folder,
      dataDirectory,
      elsewhere,
      time: timestamp(nowMs),
    });
    const lines = [
      `${dataDirectory} is what it was at ${manifest.time} (version ${manifest.version}):`,
      ...files.map(sentence),
      ...leftOut.map(({ path }) => `left out, because it does not lie in GATEWAY_DATA here: ${path}`),
      ...(leftOut.some(({ path }) => path === 'state.sqlite')
        ? [`its rules and keys are put in force in Redis with model-gateway restore-state ${folder}/state.sqlite`]
        : []),
      ...(aside === undefined ? [] : [`what was replaced is in ${aside}; delete it when all is well`]),
      'start the gateway with the master key that it had at that time',
    ];
    return { output: lines.join('\n'), code: 0 };
  } catch (error) {
    return { output: error instanceof Error ? error.message : String(error), code: 1 };
  }
}

if (import.meta.main) {
  const { output, code } = await restoreCommand(process.argv.slice(2), readDataPlaces(), {
    from: callerDirectory(),
    nowMs: Date.now(),
  });
  process.stdout.write(`${output}\n`);
  process.exitCode = code;
}
