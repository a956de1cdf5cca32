// Finds files, and rooms, that import each other in a circle.
import { posix } from 'node:path';
import { type File, importsOf } from './source-files.ts';

/** The first way round in which files import each other, types included; undefined when there is none. */
export function cycleIn(files: readonly File[]): string | undefined {
  const graph = new Map(files.map((file) => [file.path, importsOf(file)]));
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): string | undefined => {
    if (way.includes(path)) return [...way.slice(way.indexOf(path)), path].join(' → ');
    if (done.has(path)) return undefined;
    for (const next of graph.get(path) ?? []) {
      const cycle = visit(next, [...way, path]);
      if (cycle !== undefined) return cycle;
    }
    done.add(path);
    return undefined;
  };
  for (const path of graph.keys()) {
    const cycle = visit(path, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

/** The files with their room in place of their path: `proxy/limits` for what lies there, the file itself for what lies beside the rooms. */
export function roomsOf(all: readonly File[]): File[] {
  const roomOf = (path: string): string => path.split('/').slice(0, 2).join('/');
  const rooms = new Map<string, Set<string>>();
  for (const file of all) {
    const room = roomOf(file.path);
    const others = importsOf(file)
      .filter((name) => name.endsWith('.ts'))
      .map(roomOf)
      .filter((other) => other !== room);
    rooms.set(room, new Set([...(rooms.get(room) ?? []), ...others]));
  }
  return [...rooms].map(([path, others]) => ({
    path,
    text: [...others].map((other) => `import './${posix.relative(posix.dirname(path), other)}';`).join('\n'),
  }));
}
