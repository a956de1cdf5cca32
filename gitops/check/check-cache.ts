// Checks of the cache section that the schema cannot express: how long an answer may be, and user paths.

import { sizeBytes } from '../../schemas/formats/units.ts';
import type { Config } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';
import { checkPathList } from './check-path-list.ts';

/** Half of what one answer of Redis may have. */
const longestEntryBytes = 8_388_608;

/** Checks the two sizes and the user paths. */
export function checkCache(
  { max_bytes, max_entry_bytes: longest, without }: Config['cache'],
  sources: Sources,
): Problem[] {
  const paths = checkPathList(['cache', 'without'], without, sources);
  // A variable stands for a text that is not known here.
  if (longest.includes('$') || max_bytes.includes('$')) return paths;
  const place = ['cache', 'max_entry_bytes'];
  const bytes = sizeBytes(longest);
  if (bytes > longestEntryBytes)
    return [sources.problem(place, `must be at most "8MiB", found ${quote(longest)}`), ...paths];
  if (bytes <= sizeBytes(max_bytes)) return paths;
  return [
    sources.problem(place, `must be at most cache.max_bytes, ${quote(max_bytes)}, found ${quote(longest)}`),
    ...paths,
  ];
}
