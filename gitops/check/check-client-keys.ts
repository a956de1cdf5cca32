// Checks of the keys of clients that the schema cannot express: names and hashes that stand twice, user paths, and ends that have passed.
import { digestOfHash } from '../../domain/keys/config-key.ts';
import { normaliseUserPath } from '../../domain/user-path.ts';
import { parseMoment } from '../../schemas/formats/moment.ts';
import type { Config } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';

/** No hash enters a message. */
export function checkClientKeys(keys: Config['keys'], sources: Sources): Problem[] {
  const [names, secrets] = [new Map<string, number>(), new Map<string, number>()];
  return keys.flatMap((key, index) => {
    const { name, hash, value_file: file, user_path: path, any_user_path: isAny } = key;
    const problems: Problem[] = [];
    const say = (member: string, message: string, part?: 'key'): void => {
      problems.push(sources.problem(['keys', index, member], message, part));
    };
    const placeOf = (first: number, member: string): string => sources.place(['keys', first, member]);
    const [member, secret] = hash === undefined ? ['value_file', `file ${file}`] : ['hash', digestOfHash(hash)];
    const [twin, same] = [names.get(name), secrets.get(secret)];
    if (twin === undefined) names.set(name, index);
    else say('name', `a key ${quote(name)} is already declared in ${placeOf(twin, 'name')}`);
    if (same === undefined) secrets.set(secret, index);
    else say(member, `is that of another key, too (${placeOf(same, member)}); each key has a secret of its own`);
    if (key.role !== undefined && !key.dashboard_access)
      say('role', 'goes with dashboard_access: true alone; write it, or leave the role out', 'key');
    if (path === undefined) return problems;
    const { problem } = sources.isUnknown(['keys', index, 'user_path']) ? {} : normaliseUserPath(path);
    if (problem !== undefined) say('user_path', `the user path ${quote(path)} ${problem}`);
    if (isAny) {
      const message =
        'does not go with user_path, because the path of a key always wins over the header; write one of them';
      say('any_user_path', message, 'key');
    }
    return problems;
  });
}

/** A warning for each key that has ended by the beginning of the day (UTC). `today`: YYYY-MM-DD. */
export function checkEndsOfKeys(keys: Config['keys'], today: string, sources: Sources): Problem[] {
  const nowMs = parseMoment(`${today}T00:00:00Z`) ?? 0;
  return keys.flatMap(({ name, expires_at: end = '' }, index) => {
    const endMs = parseMoment(end);
    if (endMs === undefined || endMs > nowMs) return [];
    const message = `the key ${quote(name)} has ended, so it is refused; remove the entry, or write a later end`;
    return [sources.problem(['keys', index, 'expires_at'], message)];
  });
}
