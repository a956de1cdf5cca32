// The deepest user path that some user paths share.

/** `/team/a/x` and `/team/b` share `/team`; without any it is `/`. */
export function deepestPath(paths: readonly string[]): string {
  const [first = '/', ...rest] = paths;
  let segments = first.split('/');
  for (const path of rest) {
    const other = path.split('/');
    const end = segments.findIndex((segment, place) => segment !== other[place]);
    if (end !== -1) segments = segments.slice(0, end);
  }
  return segments.join('/') || '/';
}
