// The kinds whose documents are named entries of a list of the configuration: how one is set, removed and listed.
import { type EntryKindName, entryNouns } from '../../domain/documents/kinds.ts';
import { type ManagedKind, removed } from '../../domain/documents/managed-kind.ts';
import { type ManualEntry, type MergedEntry, mergeEntries } from '../../domain/documents/manual-entry.ts';
import type { EntryNames } from '../../domain/keys/model-access.ts';
import type { ListSection } from '../../gitops/assemble/places.ts';
import type { Config } from '../../schemas/types.ts';
import { explain } from '../../schemas/validation/explain.ts';
import { bodies } from '../../schemas/validation/generated/bodies.js';
import { formatPath } from '../../schemas/validation/path.ts';
import { complaintsOf, type Validator } from '../../schemas/validation/validator.ts';
import type { Operator } from '../authenticate.ts';
import type { ConfigInForce } from '../config-in-force.ts';
import { refusal } from '../errors.ts';
import type { Fleet } from '../fleet.ts';
import type { KnownState } from './commit.ts';
import { jsonWording } from './json-wording.ts';
import { byKey, type Known, readKnown, refuseMore, refuseUnset, writtenEntry } from './known.ts';
import { dates, listingBody, provenance } from './listing.ts';
import { longestDocumentBytes } from './quotas.ts';
import { createBodyReader, invalid } from './read-body.ts';
import type { ManagedParts, ManagedResource, ManagedWrite, Named } from './resource.ts';

/** Sections that are lists of entries with a `name`. */
type NamedSection = {
  [Section in ListSection]: Config[Section][number] extends { readonly name: string } ? Section : never;
}[ListSection];
type EntryOf<Section extends NamedSection> = Config[Section][number];

/** The parts of the process that these kinds use. */
export interface EntryParts extends ManagedParts {
  readonly config: Pick<ConfigInForce, 'declared' | 'places'> & { readonly known: EntryNames };
  readonly fleet: Pick<Fleet, 'proxies'>;
}

/** All entries of a kind at one moment, by name. */
export interface KnownEntries<Value> extends Known<Value, ManualEntry<Value>> {
  /** The names of providers and aliases. */
  readonly names: EntryNames;
}

/** A kind: data, and functions for what differs from the usual. */
export interface EntryKind<Section extends NamedSection> {
  readonly section: Section;
  readonly path: string;
  readonly kind: ManagedKind<ManualEntry<EntryOf<Section>>>;
  /** How codes of errors name one. */
  readonly name: EntryKindName;
  /** The most that operators may set. */
  readonly most: number;
  readonly isEntry: Validator<EntryOf<Section>>;
  /** Normalises an entry that its schema accepts, and checks what the schema cannot express. Throws or rejects with the refusal. */
  read?(entry: EntryOf<Section>): EntryOf<Section> | Promise<EntryOf<Section>>;
  /** Throws 403 when the operator may not write this name. `next`: the entry to be; undefined: none of operators. */
  delegate?(
    known: KnownEntries<EntryOf<Section>>,
    change: readonly [name: string, next: EntryOf<Section> | undefined],
    operator: Operator,
  ): void;
  /** Those of the configuration and of operators in their order. Absent: see `mergeEntries`. */
  merge?(
    config: readonly EntryOf<Section>[],
    manual: readonly ManualEntry<EntryOf<Section>>[],
  ): readonly MergedEntry<EntryOf<Section>>[];
  /** Gives the members of a row of the listing for an entry. Absent: those of the entry. */
  rowsBy?(parts: EntryParts): (entry: EntryOf<Section>) => object;
  /** The members of log and record, without secrets. Absent: those of the entry. */
  facts?(entry: EntryOf<Section>): object;
}

interface EntryWrite<Value> extends Named {
  readonly entry: Value;
}

const readDelete = createBodyReader(bodies.entryDelete);

/** The resource of a kind, for `managedRoutes`. */
export function entryResource<Section extends NamedSection>(
  of: EntryKind<Section>,
): ManagedResource<EntryParts, KnownEntries<EntryOf<Section>>> {
  type Value = EntryOf<Section>;
  type AllEntries = KnownEntries<Value>;
  const { section, kind, name: kindName, most } = of;
  const nameOf = ({ name }: Value): string => name;

  function known({ config }: EntryParts, state: KnownState, nowMs: number): AllEntries {
    const declaration = { config: byKey<Value>(config.declared[section], nameOf), places: config.places[section] };
    return { ...readKnown<Value, ManualEntry<Value>>(kind, state, declaration, nowMs), names: config.known };
  }
  function merged({ config, manual }: AllEntries): readonly MergedEntry<Value>[] {
    const [declared, set] = [[...config.values()], [...manual.all().values()]];
    return of.merge?.(declared, set) ?? mergeEntries(declared, set, nameOf);
  }
  /** The entry in force. Null: there is none. */
  function factsOf({ config, manual }: AllEntries, name: string): object | null {
    const set = manual.get(name);
    const value = set?.value ?? config.get(name);
    if (value === undefined) return null;
    return { source: set === undefined ? 'config' : 'manual', ...(of.facts?.(value) ?? value) };
  }

  const put: ManagedWrite<EntryParts, AllEntries, EntryWrite<Value>> = {
    method: 'PUT',
    async read(body) {
      const given = readEntry(of.isEntry, body);
      const entry = (await of.read?.(given)) ?? given;
      return { key: nameOf(entry), entry };
    },
    decide(all, { key, entry }, { operator, name: by }) {
      of.delegate?.(all, [key, entry], operator);
      refuseMore(all, key, most, `too_many_${kindName}s`);
      return [
        writtenEntry(all, kind, { key, value: entry, by }, (bytes) => [
          'name',
          `is of a ${entryNouns[kindName]} of ${bytes} bytes, and one may take ${longestDocumentBytes}`,
        ]),
      ];
    },
  };
  const remove: ManagedWrite<EntryParts, AllEntries> = {
    method: 'DELETE',
    read: (body) => ({ key: readDelete(body).name }),
    decide(all, { key }, { operator }) {
      of.delegate?.(all, [key, undefined], operator);
      const codes = { configOwned: `${kindName}_config_owned`, notFound: `${kindName}_not_found` } as const;
      refuseUnset(all, key, codes, { name: key });
      return [removed(kind, key)];
    },
  };
  return {
    path: of.path,
    kind,
    known,
    list(parts, state, shown) {
      const all = known(parts, state, shown.nowMs);
      const membersOf = of.rowsBy?.(parts);
      const rows = merged(all).map((entry) => ({
        ...(membersOf?.(entry.value) ?? entry.value),
        ...provenance(nameOf(entry.value), entry, all.places),
        ...dates(entry.manual),
      }));
      return listingBody(section, rows, shown);
    },
    title: ({ key }) => key,
    facts: (before, after, { key }) => ({ before: factsOf(before, key), after: factsOf(after, key) }),
    writes: [put, remove],
  };
}

/** The body of a PUT by the schema of the configuration, with its defaults. Throws 400 naming the member. */
function readEntry<Value>(isEntry: Validator<Value>, body: unknown): Value {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw refusal('invalid_json');
  if (isEntry(body)) return body;
  const [first] = explain(complaintsOf(isEntry.errors, body), { source: body, wording: jsonWording });
  throw invalid(formatPath(first?.path ?? []), first?.message ?? 'is not what its schema describes');
}
