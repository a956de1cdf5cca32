// Aliases as operators list and write them, under the name of virtual models (spec: What the service does 4).
import { manualAliases } from '../../../domain/documents/kinds.ts';
import { listingBody } from '../../managed/listing.ts';
import type { ManagedResource, ManagedWrite } from '../../managed/resource.ts';
import { deleteAlias, putAlias } from './changes.ts';
import { delegatedAlias } from './delegation.ts';
import { type KnownAliases, knownAliases, type VirtualModelParts } from './known.ts';
import { aliasFacts, aliasRows } from './listing.ts';
import { type AliasWrite, type NamedAlias, readDelete, readWrite } from './read-write.ts';

const put: ManagedWrite<VirtualModelParts, KnownAliases, AliasWrite> = {
  method: 'PUT',
  read: readWrite,
  decide: (known, wanted, { operator, name }) =>
    delegatedAlias(known, wanted.source, [putAlias(known, wanted, name)], operator),
};

const remove: ManagedWrite<VirtualModelParts, KnownAliases, NamedAlias> = {
  method: 'DELETE',
  read: readDelete,
  decide: (known, wanted, { operator }) => delegatedAlias(known, wanted.source, [deleteAlias(known, wanted)], operator),
};

/** Aliases are for the whole gateway: operators of a user path have no access, and those of some models only as far as their models reach. */
export const virtualModelResource: ManagedResource<VirtualModelParts, KnownAliases> = {
  path: '/admin/virtual-models',
  kind: manualAliases,
  known: knownAliases,
  list: (parts, state, shown) =>
    listingBody('virtual_models', aliasRows(knownAliases(parts, state, shown.nowMs)), shown),
  title: ({ key }) => key,
  facts: (before, after, { key }) => ({ before: aliasFacts(before, key), after: aliasFacts(after, key) }),
  writes: [put, remove],
};
