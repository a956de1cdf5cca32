// Creates the log of a process: one JSON line per event on stdout. Also logs settings that should be changed.
import { destination, type Logger, pino } from 'pino';
import type { PlaneSettings } from './environment.ts';

/** `plane` is in every line. */
export function createLog(plane: 'proxy' | 'control-plane', level: PlaneSettings['logLevel']): Logger {
  // Synchronous: lines are few, and none may be lost or swapped when the process exits.
  return pino({ level, base: { plane } }, destination({ dest: 1, sync: true }));
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
