// Guardrails as operators list and write them.
import { manualGuardrails } from '../../../domain/documents/kinds.ts';
import { removed } from '../../../domain/documents/managed-kind.ts';
import type { Guardrail } from '../../../schemas/types.ts';
import { refuseMore, refuseUnset, writtenEntry } from '../../managed/known.ts';
import { listingBody } from '../../managed/listing.ts';
import { longestDocumentBytes } from '../../managed/quotas.ts';
import type { ManagedResource, ManagedWrite, Named } from '../../managed/resource.ts';
import { delegateGuardrail } from './delegation.ts';
import { factsOf, type GuardrailParts, type KnownGuardrails, knownGuardrails, mergedOf } from './known.ts';
import { guardrailRows } from './listing.ts';
import { readDelete, readWrite } from './read-write.ts';

interface GuardrailWrite extends Named {
  readonly guardrail: Guardrail;
}

/** With more, every request would wait for them. */
const mostManual = 100;

const put: ManagedWrite<GuardrailParts, KnownGuardrails, GuardrailWrite> = {
  method: 'PUT',
  async read(body) {
    const guardrail = await readWrite(body);
    return { key: guardrail.name, guardrail };
  },
  decide(all, { key, guardrail }, { operator, name: by }) {
    delegateGuardrail(all, [key, guardrail], operator);
    refuseMore(all, key, mostManual, 'too_many_guardrails');
    return [
      writtenEntry(all, manualGuardrails, { key, value: guardrail, by }, (bytes) => [
        'name',
        `is of a guardrail of ${bytes} bytes, and one may take ${longestDocumentBytes}`,
      ]),
    ];
  },
};

const remove: ManagedWrite<GuardrailParts, KnownGuardrails> = {
  method: 'DELETE',
  read: (body) => ({ key: readDelete(body) }),
  decide(all, { key }, { operator }) {
    delegateGuardrail(all, [key, undefined], operator);
    const codes = { configOwned: 'guardrail_config_owned', notFound: 'guardrail_not_found' } as const;
    refuseUnset(all, key, codes, { name: key });
    return [removed(manualGuardrails, key)];
  },
};

/** Guardrails are for the whole gateway: operators of a user path have no access, and those of some models only to guardrails of these. */
export const guardrailResource: ManagedResource<GuardrailParts, KnownGuardrails> = {
  path: '/admin/guardrails',
  access: 'admin',
  kind: manualGuardrails,
  known: knownGuardrails,
  list(parts, state, shown) {
    const live = parts.fleet.proxies().filter(({ isLive }) => isLive);
    const rows = guardrailRows({
      merged: mergedOf(knownGuardrails(parts, state, shown.nowMs)),
      declared: parts.config.places.guardrails,
      verdicts: live.flatMap(({ body }) => body.verdicts ?? []),
    });
    return listingBody('guardrails', rows, shown);
  },
  title: ({ key }) => key,
  facts: (before, after, { key }) => ({ before: factsOf(before, key), after: factsOf(after, key) }),
  writes: [put, remove],
};
