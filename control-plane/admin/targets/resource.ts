// Targets as operators see them, and how one is taken out for a while: POST and DELETE /admin/targets/{provider}[/{model}]/drain.
import { targetDrains } from '../../../domain/documents/kinds.ts';
import { authorFacts } from '../../../domain/rules/authorship.ts';
import type { TargetDrain } from '../../../domain/targets/target-drain.ts';
import type { Operator } from '../../authenticate.ts';
import type { ConfigInForce } from '../../config-in-force.ts';
import type { Fleet } from '../../fleet.ts';
import { type Known, readKnown } from '../../managed/known.ts';
import { beyondModels, reaches } from '../../managed/reach.ts';
import type { ManagedParts, ManagedResource, ManagedWrite } from '../../managed/resource.ts';
import { endDrain, type NamedTarget, putDrain, readDrain, readTarget, type WantedDrain } from './drains.ts';
import { targetListing } from './listing.ts';

/** The parts of the process that this resource uses. */
export interface TargetParts extends ManagedParts {
  readonly config: Pick<ConfigInForce, 'known' | 'models'>;
  readonly fleet: Pick<Fleet, 'refresh' | 'proxies'>;
}

/** The drains in force; the configuration declares none. */
interface KnownDrains extends Known<never, TargetDrain> {
  readonly models: ConfigInForce['models'];
}

type DrainWrite<Wanted extends NamedTarget> = ManagedWrite<TargetParts, KnownDrains, Wanted>;

const suffix = '/*';
const nothing = { config: new Map<string, never>(), places: new Map<string, string>() };

const drain: DrainWrite<WantedDrain> = {
  method: 'POST',
  suffix,
  read: readDrain,
  admit: admitReached,
  decide: (known, wanted, { name }) => [putDrain(known, wanted, name)],
};

const end: DrainWrite<NamedTarget> = {
  method: 'DELETE',
  suffix,
  read: (_, __, rest) => readTarget('DELETE', rest),
  admit: admitReached,
  decide: (known, wanted) => [endDrain(known, wanted)],
};

function admitReached({ provider, model, name }: NamedTarget, operator: Operator, { config }: TargetParts): void {
  const entry = model === undefined ? `${provider}/*` : name;
  if (!reaches(operator, entry, config.known)) throw beyondModels(`take ${name} out, or give it back`);
}

/** The listing has the breakers, speed, calls and learned limits of targets as the live proxies see them, while the store is down, too. */
export const targetResource: ManagedResource<TargetParts, KnownDrains> = {
  path: '/admin/targets',
  kind: targetDrains,
  known: ({ config }, state, nowMs) => ({
    ...readKnown(targetDrains, state, nothing, nowMs),
    models: config.models,
  }),
  async list({ fleet }, state, { nowMs, isStale }) {
    await fleet.refresh().catch(() => undefined);
    const { manual } = readKnown(targetDrains, state, nothing, nowMs);
    return targetListing({ proxies: fleet.proxies(), drains: [...manual.all().values()], nowMs, isStale });
  },
  title: (wanted) => `target ${wanted.key}`,
  facts: (before, after, { key }) => ({
    before: factsOf(before.manual.get(key)),
    after: factsOf(after.manual.get(key)),
  }),
  writes: [drain, end],
};

function factsOf(found: TargetDrain | undefined): object | null {
  return found === undefined ? null : { drained: true, ...authorFacts(found) };
}
