// Checks the user paths of a list.
import { normaliseUserPath } from '../../domain/user-path.ts';
import { type Path, quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';

/** A problem for each text that is none. `place`: where the list stands. */
export function checkPathList(place: Path, texts: readonly string[], sources: Sources): Problem[] {
  return texts.flatMap((text, index) => {
    const at = [...place, index];
    const { problem } = sources.isUnknown(at) ? {} : normaliseUserPath(text);
    return problem === undefined ? [] : [sources.problem(at, `the user path ${quote(text)} ${problem}`)];
  });
}
