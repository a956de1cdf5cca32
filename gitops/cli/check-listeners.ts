// What `check` says of the files of listeners with TLS, as far as they are on this machine.
import { existsSync } from 'node:fs';
import { parseMoment } from '../../schemas/formats/moment.ts';
import type { AssembledConfig, Listener } from '../assemble/assembled.ts';
import { listenerReader, untimely } from '../read/listener-files.ts';
import type { Problem } from '../read/problem.ts';

/** Warnings: a file is not here (environmental), does not fit, or has expired by the beginning of the day (UTC). `today`: YYYY-MM-DD. */
export async function checkListeners(config: AssembledConfig | undefined, today?: string): Promise<Problem[]> {
  const found = (config?.listeners ?? []).map((listener) => checkListener(listener, today));
  return (await Promise.all(found)).flat();
}

async function checkListener({ section, files, places }: Listener, today: string | undefined): Promise<Problem[]> {
  const paths: Readonly<Record<string, string | undefined>> = {
    certificate_file: files.certificate_file,
    key_file: files.key_file,
    'client_certificates.ca_file': files.client_certificates?.ca_file,
    'client_certificates.crl_file': files.client_certificates?.crl_file,
  };
  const who = section === 'server' ? 'a proxy' : 'the control plane';
  const absent = Object.entries(places).filter(([member]) => !existsSync(paths[member] ?? ''));
  if (absent.length > 0) {
    const message = `names a file that does not exist here; ${who} needs it`;
    return absent.map(([, place]) => ({ ...place, message, environmental: true }));
  }
  const reading = await listenerReader(files)();
  const nowMs = today === undefined ? undefined : parseMoment(`${today}T00:00:00Z`);
  // One that is made today is not valid at the beginning of the day.
  const isOver = !('trouble' in reading) && nowMs !== undefined && nowMs >= reading.notAfterMs;
  const late = isOver ? untimely(reading, nowMs) : undefined;
  const trouble = 'trouble' in reading ? reading.trouble : late;
  const place = places['trouble' in reading ? reading.at.join('.') : 'certificate_file'];
  return trouble === undefined || place === undefined ? [] : [{ ...place, message: `names a file that ${trouble}` }];
}
