// Warnings about one user path in two spellings. Letter case does not count, so both name one consumer, which a reader may not expect.
import { foldUserPath, normaliseUserPath } from '../../domain/user-path.ts';
import type { Config } from '../../schemas/types.ts';
import { type Path, quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';

type Sections = Pick<Config, 'rate_limits' | 'budgets' | 'guardrails' | 'cache' | 'audit' | 'keys'> & {
  readonly aliases: readonly { readonly user_paths?: readonly string[] }[];
};

/** Limits the number of warnings. */
const enough = 100;

/** A warning for each path of which a part is spelled in another letter case before. */
export function checkPathSpelling(config: Sections, sources: Sources): Problem[] {
  const firsts = new Map<string, { spelled: string; place: Path }>();
  const warnings: Problem[] = [];
  for (const { text, place } of placesIn(config)) {
    if (warnings.length >= enough) break;
    const other = partsOf(text).flatMap((spelled) => {
      const first = firsts.get(foldUserPath(spelled));
      if (first === undefined) firsts.set(foldUserPath(spelled), { spelled, place });
      return first === undefined || first.spelled === spelled ? [] : [{ first, here: spelled }];
    })[0];
    if (other === undefined) continue;
    const twin = `${quote(other.first.spelled)} in ${sources.place(other.first.place)}`;
    const message = `${quote(other.here)} is spelled ${twin}; letter case does not count, so both are one path`;
    warnings.push(sources.problem(place, message));
  }
  return warnings;
}

/** `/a/b` → `/a`, `/a/b`. None of a text that is no path: that is a problem of its own. */
function partsOf(text: string): string[] {
  const segments = (normaliseUserPath(text).path ?? '').split('/').filter((segment) => segment !== '');
  return segments.map((_, index) => `/${segments.slice(0, index + 1).join('/')}`);
}

function placesIn({
  rate_limits,
  budgets,
  guardrails,
  aliases,
  cache,
  audit,
  keys,
}: Sections): { text: string; place: Path }[] {
  const listed = (place: Path, texts: readonly string[] = []) =>
    texts.map((text, index) => ({ text, place: [...place, index] }));
  const subjects = (section: string, entries: readonly { readonly path: string }[]) =>
    entries.map(({ path }, index) => ({ text: path, place: [section, 'user_paths', index, 'path'] }));
  return [
    ...subjects('rate_limits', rate_limits.user_paths),
    ...subjects('budgets', budgets.user_paths),
    ...guardrails.flatMap(({ user_paths }, index) => listed(['guardrails', index, 'user_paths'], user_paths)),
    ...aliases.flatMap(({ user_paths }, index) => listed(['aliases', index, 'user_paths'], user_paths)),
    ...listed(['cache', 'without'], cache.without),
    ...listed(['audit', 'without'], audit.without),
    ...keys.flatMap(({ user_path: text }, index) =>
      text === undefined ? [] : [{ text, place: ['keys', index, 'user_path'] }],
    ),
  ];
}
