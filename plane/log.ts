// The log of a process: one JSON line for each event on stdout, and what the settings should be changed for.
import { destination, type Logger, pino } from 'pino';
import type { PlaneSettings } from './environment.ts';

/** `plane` stands in every line. */
export function createLog(plane: 'proxy' | 'control-plane', level: PlaneSettings['logLevel']): Logger {
  // Synchronous: lines are few, and none may be lost or swapped when the process exits.
  return pino({ level, base: { plane } }, destination({ dest: 1, sync: true }));
}

/** One line for each setting that works and should be changed all the same. `open`: what a missing master key means for this plane. */
export function logSettings(
  log: Pick<Logger, 'warn'>,
  { warnings, insecure, masterKey }: Pick<PlaneSettings, 'warnings' | 'insecure' | 'masterKey'>,
  open: string,
): void {
  for (const warning of warnings) log.warn(warning);
  if (insecure && masterKey === undefined) log.warn(`GATEWAY_INSECURE is set and there is no master key: ${open}`);
}
