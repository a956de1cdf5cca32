// Which rules count a request at an endpoint, and how long it holds a slot.

import type { NamingEndpoint } from '../endpoints/naming-endpoint.ts';
import type { Counting } from '../limits/counted-rules.ts';
import type { Counted } from './explanation.ts';

const rules = { everything: 'all', user_paths: 'user_paths', nothing: 'none' } as const satisfies Record<
  Counting,
  Counted['rules']
>;

export function countedAt({ counts, slot }: Pick<NamingEndpoint, 'counts' | 'slot'>): Counted {
  return { rules: rules[counts], slot, says: sentence(counts, slot) };
}

/** Spec, Limits 1, 9 and 10. */
function sentence(counts: Counting, slot: NamingEndpoint['slot']): string {
  if (counts === 'nothing') return 'No rule counts it, and none refuses it.';
  if (counts === 'user_paths')
    return 'A batch is one request under the rules on the user path, whatever is in it. It holds no slot, and no rule on a provider or model counts it.';
  const under = 'under every rule on the user path, the provider and the model';
  if (slot === 'session') return `A session is one request ${under}, and holds one slot until it ends.`;
  return `It is one request ${under}, and holds one slot until its answer has ended.`;
}
