// Discovery with its copy on disk.
import { singleFlight } from '../../store/single-flight.ts';
import { type AskingParts, askModels } from './ask-models.ts';
import { Discovery, type DiscoveryParts } from './discovery.ts';
import { type KeptInventories, keepInventories, recallInventories } from './inventory-file.ts';

export interface OpenDiscovery extends AskingParts, Pick<DiscoveryParts, 'changed'> {
  /** Where the copy lies. */
  readonly path: string;
  readonly log: DiscoveryParts['log'] & Record<'warn', (text: string) => void>;
}

/** Resolves when the copy is read; asks no provider before it gets the list of providers. */
export async function openDiscovery({ path, log, nowMs, changed, ...parts }: OpenDiscovery): Promise<Discovery> {
  const { inventories: recalled, warning } = await recallInventories(path);
  if (warning !== undefined) log.warn(warning);
  let newest: KeptInventories = new Map();
  let said: string | undefined;
  const saving = singleFlight(async () => {
    const problem = await keepInventories(path, newest);
    if (problem !== undefined && problem !== said) log.warn(problem);
    said = problem;
  });
  return new Discovery({
    recalled,
    log,
    nowMs,
    changed,
    ask: (provider) => askModels(provider, { ...parts, nowMs }),
    save(inventories) {
      newest = inventories;
      void saving.next();
    },
  });
}
