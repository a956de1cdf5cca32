// Checks of the audit section that the schema cannot express: the longest body, and user paths.

import { sizeBytes } from '../../schemas/formats/units.ts';
import type { Config } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';
import { checkPathList } from './check-path-list.ts';

/** A record is one line of the journal, and holds two bodies. */
const longestBodyBytes = 1_048_576;

/** Checks the longest body and the user paths. */
export function checkAudit({ body_limit: limit, without }: Config['audit'], sources: Sources): Problem[] {
  const place = ['audit', 'body_limit'];
  // A variable stands for a text that is not known here.
  const isTooLong = !limit.includes('$') && sizeBytes(limit) > longestBodyBytes;
  const paths = checkPathList(['audit', 'without'], without, sources);
  return isTooLong ? [sources.problem(place, `must be at most "1MiB", found ${quote(limit)}`), ...paths] : paths;
}
