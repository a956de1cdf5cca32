// Warns of a variable that limits /team_b beside keys of /team-b. The files of the configuration are checked where they are loaded.

import { managedKeys } from '../domain/documents/kinds.ts';
import { readKind, type StoredDocument } from '../domain/documents/managed-kind.ts';
import { readEnvironmentRules } from '../gitops/assemble/environment-rules.ts';
import { hyphenAdvice, hyphenatedPath } from '../gitops/assemble/hyphenated-path.ts';
import { quote } from '../schemas/validation/path.ts';
import type { Variables } from '../schemas/variables.ts';
import type { Log } from './log-events.ts';

/** The most warnings of one process. */
const most = 100;

/** Call it with the documents in force whenever they change: logs one line for each variable and path. */
export function createKeyPathWarnings(
  variables: Variables,
  log: Pick<Log, 'warn'>,
): (documents: readonly StoredDocument[]) => void {
  const { given } = readEnvironmentRules(variables, new Set());
  const suspects = given.filter(({ scope, subject }) => scope === 'user_path' && subject.includes('_'));
  const told = new Set<string>();
  return (documents) => {
    if (suspects.length === 0 || told.size >= most) return;
    for (const { id, userPath, enabled } of readKind(managedKeys, documents).values) {
      if (userPath === undefined || !enabled) continue;
      for (const { variable, subject } of suspects) {
        const meant = hyphenatedPath(subject, userPath);
        if (meant === undefined || told.has(`${variable} ${meant}`) || told.size >= most) continue;
        told.add(`${variable} ${meant}`);
        const sentence = `${variable} limits ${quote(subject)}, not ${quote(meant)} of the key ${id}: ${hyphenAdvice}`;
        log.warn({ variable, user_path: meant, key_id: id }, sentence);
      }
    }
  };
}
