// Warns of a stored key with the secret of a key that the configuration declares: it decides what becomes of the secret once the entry is removed.
import type { Log } from '../plane/log-events.ts';
import type { DocumentsInForce } from './documents-in-force.ts';

/** The most warnings of one process. */
const most = 100;

/** Call it whenever keys change: logs one line for each pair, and another one when the stored key is deactivated. */
export function createTwinWarnings(
  log: Pick<Log, 'warn'>,
): (managed: Pick<DocumentsInForce, 'configKeys' | 'credentials'>) => void {
  const told = new Set<string>();
  return ({ configKeys, credentials }) => {
    for (const declared of configKeys) {
      for (const { id, enabled } of credentials.keys.sharing(declared)) {
        const pair = `${declared.id} ${id} ${enabled}`;
        if (told.has(pair) || told.size >= most) continue;
        told.add(pair);
        const consequence = enabled
          ? `the entry of the configuration counts, and without it the stored key would be let in again; delete that one`
          : `that one was deactivated, so the entry of the configuration is refused, too; issue a new secret, or delete the stored key`;
        const sentence = `the key ${declared.id} has the same secret as the stored key ${id}: ${consequence}`;
        log.warn({ key_id: declared.id, stored_key_id: id }, sentence);
      }
    }
  };
}
