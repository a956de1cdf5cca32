// Creates the log of a process: one JSON line per event, with the level as a word and the time in ISO 8601. Also logs settings that should
// be changed.
import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { StoreUnavailable } from '../store/state/store-unavailable.ts';
import type { PlaneSettings } from './environment.ts';
import type { Identity } from './identity.ts';
import { type LineWriter, standardOutput } from './line-writer.ts';

/** How often it is looked whether lines were dropped. Milliseconds. */
const dropCheckMs = 500;

/** The members of `identity` are in every line. */
export function createLog(
  { service, plane, instance, version }: Identity,
  level: PlaneSettings['logLevel'],
  to: DestinationStream,
): Logger {
  return pino(
    {
      level,
      base: { service, plane, instance, version },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
    },
    to,
  );
}

/** A store that is away is no mistake of the program: its message says what to do, and a stack would hide it. */
function describeError(error: Error): object {
  if (!(error instanceof StoreUnavailable)) return stdSerializers.err(error);
  return { type: error.name, reason: error.reason, message: error.message };
}

/** The log of a plane, on standard output, which others may write to as well. */
export function openLog(identity: Identity, level: PlaneSettings['logLevel']): { log: Logger; output: LineWriter } {
  const output = standardOutput();
  const log = createLog(identity, level, output);
  tellOfDropped(log, output);
  return { log, output };
}

/** From now on a line says how many lines were dropped, as soon as standard output is read again. */
function tellOfDropped(log: Pick<Logger, 'warn'>, output: Pick<LineWriter, 'takeDropped'>): void {
  setInterval(() => {
    const dropped = output.takeDropped();
    if (dropped === undefined) return;
    const { requests, events } = dropped;
    log.warn({ request_lines: requests, event_lines: events }, 'lines were dropped: standard output was not read');
  }, dropCheckMs).unref();
}

/** One line for each setting that works but should be changed. `open`: the effect of a missing master key on this plane. */
export function logSettings(
  log: Pick<Logger, 'warn'>,
  { warnings, insecure, masterKey }: Pick<PlaneSettings, 'warnings' | 'insecure' | 'masterKey'>,
  open: string,
): void {
  for (const warning of warnings) log.warn(warning);
  if (insecure && masterKey === undefined) log.warn(`GATEWAY_INSECURE is set and there is no master key: ${open}`);
}
