// Merges the parsed files into one configuration. Entries of providers, of lists and of rules may be spread over files; every other key may not.
import type { Config } from '../../schemas/types.ts';
import { formatPath, type Path, quote } from '../../schemas/validation/path.ts';
import { isTree, type Tree } from '../../schemas/validation/value-at.ts';
import { pathKey } from '../read/expand.ts';
import type { Problem } from '../read/problem.ts';
import { defaultConfig } from '../read/validate.ts';
import { locateIn, type Origin, type Part, placeIn, problemIn, type Sources } from './sources.ts';

export interface Merged {
  config: Config;
  sources: Sources;
  problems: Problem[];
  /** The names of the providers in the order of the files. An object puts names that are whole numbers first. */
  providerNames: string[];
  /** Whether a file has the top-level key, valid or not. */
  isDeclared: (section: string) => boolean;
  /** Whether a file has the top-level key with mistakes; then its entries in this file are missing. */
  isUnsound: (section: string) => boolean;
}

/** The lists of a section whose entries may be in several files. */
const spreadLists = { rate_limits: ['user_paths', 'providers', 'models'], budgets: ['user_paths', 'labels'] } as const;

/** Sections that are absent unless a file has them. */
const optionalSections = ['rollout'] as const satisfies (keyof Config)[];

function isListed(section: unknown): section is keyof typeof spreadLists {
  return section === 'rate_limits' || section === 'budgets';
}

/** Merges the parts in their order. Sections that break the schemas are left out, file by file. */
export function mergeParts(parts: readonly Part[]): Merged {
  const merging = new Merging();
  for (const part of parts) merging.add(part);
  return {
    config: merging.config,
    sources: locateIn(
      (path) => merging.originOf(path),
      ([section]) => merging.isDeclared(String(section)),
    ),
    problems: merging.problems,
    providerNames: merging.providerNames,
    isDeclared: (section) => merging.isDeclared(section),
    isUnsound: (section) => merging.unsound.has(section),
  };
}

class Merging {
  readonly config = defaultConfig();
  readonly problems: Problem[] = [];
  readonly providerNames: string[] = [];
  readonly unsound = new Set<string>();
  /** The first file that has a key, by `pathKey`. */
  readonly #owners = new Map<string, Origin>();
  /** Of every entry of a list, its file and its index there. */
  readonly #entries: Record<string, { part: Part; index: number }[]> = {};

  add(part: Part): void {
    for (const section of [...(Object.keys(this.config) as (keyof Config)[]), ...optionalSections]) {
      if (Object.hasOwn(part.parsed.value, section)) this.#addSection(part, section);
    }
  }

  isDeclared(section: string): boolean {
    return this.#owners.has(pathKey([section]));
  }

  /** Throws for a path of a top-level key that no file has. */
  originOf(path: Path): Origin {
    const depth = isListed(path[0]) ? 2 : 1;
    const index = path[depth];
    const list = path[0] === 'providers' ? undefined : this.#entries[pathKey(path.slice(0, depth))];
    const entry = typeof index === 'number' ? list?.[index] : undefined;
    if (entry !== undefined)
      return { part: entry.part, path: [...path.slice(0, depth), entry.index, ...path.slice(depth + 1)] };
    const owner = this.#owners.get(pathKey(path.slice(0, 2))) ?? this.#owners.get(pathKey(path.slice(0, 1)));
    if (owner === undefined) throw new Error(`no file declares ${formatPath(path)}`);
    return { part: owner.part, path };
  }

  #addSection(part: Part, section: keyof Config): void {
    const list = this.config[section];
    const isSpread = section === 'providers' || Array.isArray(list) || isListed(section);
    const isFirst = isSpread ? this.#note(part, [section]) : this.#claim(part, [section]);
    if (part.unsound.has(section)) {
      this.unsound.add(section);
      return;
    }
    const value = part.value[section];
    if (section === 'providers' && isTree(value)) this.#addProviders(part, value);
    else if (Array.isArray(list)) this.#append(part, [section], list, value);
    else if (isListed(section) && isTree(value)) this.#addLists(part, section, value);
    else if (isFirst) Object.assign(this.config, { [section]: value });
  }

  #addProviders(part: Part, providers: Tree): void {
    for (const name of namesInOrder(part, providers)) {
      const path = ['providers', name];
      const first = this.#owners.get(pathKey(path));
      if (first !== undefined) {
        const message = `the provider ${quote(name)} is already declared in ${placeIn(first, 'key')}`;
        this.problems.push(problemIn({ part, path }, message, 'key'));
        continue;
      }
      this.#note(part, path);
      this.providerNames.push(name);
      const value = providers[name];
      // Defined, not assigned: an assignment to "__proto__" would set the prototype.
      const property = { value, enumerable: true, configurable: true, writable: true };
      Object.defineProperty(this.config.providers, name, property);
    }
  }

  #addLists(part: Part, section: keyof typeof spreadLists, given: Tree): void {
    const lists: readonly string[] = spreadLists[section];
    const to: Record<string, unknown> = { ...this.config[section] };
    for (const list of lists) this.#append(part, [section, list], to[list] as unknown[], given[list]);
    const written = part.parsed.value[section];
    for (const key of isTree(written) ? Object.keys(written) : []) {
      if (lists.includes(key) || !this.#claim(part, [section, key])) continue;
      Object.assign(this.config[section], { [key]: given[key] });
    }
  }

  #append(part: Part, list: Path, to: unknown[], values: unknown): void {
    if (!Array.isArray(values)) return;
    const key = pathKey(list);
    const entries = this.#entries[key] ?? [];
    this.#entries[key] = entries;
    for (const [index, value] of values.entries()) {
      to.push(value);
      entries.push({ part, index });
    }
  }

  /** Whether the file is the first one with the key. */
  #note(part: Part, path: Path): boolean {
    const key = pathKey(path);
    if (this.#owners.has(key)) return false;
    this.#owners.set(key, { part, path });
    return true;
  }

  /** As `#note`; a second file with the key is reported before all other problems, because it may be their cause. */
  #claim(part: Part, path: Path): boolean {
    const first = this.#owners.get(pathKey(path));
    if (first === undefined) return this.#note(part, path);
    const message = `the key ${quote(formatPath(path))} is already in ${placeIn(first, 'key')}; it may be in one file only`;
    this.problems.push({ ...problemIn({ part, path }, message, 'key'), first: true });
    return false;
  }
}

/** The names in the order of the file. An object loses this order: it puts names that are whole numbers first. */
function namesInOrder({ parsed }: Part, providers: Tree): string[] {
  const names = Object.keys(providers);
  if (!names.some((name) => /^[0-9]+$/.test(name))) return names;
  const places = names.map((name) => ({ name, ...parsed.locate(['providers', name], 'key') }));
  places.sort((a, b) => a.line - b.line || a.column - b.column);
  return places.map(({ name }) => name);
}
