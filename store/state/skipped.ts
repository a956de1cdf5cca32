// Stored documents that are not in force: counted, and each named in the log once.
import type { SkippedDocument } from './state-store.ts';

export interface SkippedDocuments {
  /** Names those that were not skipped the last time. */
  tell(skipped: readonly SkippedDocument[]): void;
  counts(): { readonly unreadable: number; readonly unsealed: number };
}

/** Named one by one; of more than these the log says only the number, so that a writer to the store cannot flood the log. */
const mostNamed = 20;
/** Characters of an id that a line repeats. */
const longestId = 200;

const advice =
  'Documents without a good seal were not written with this GATEWAY_MASTER_KEY. If a version before seals wrote them, start the control plane once with GATEWAY_ADOPT_UNSIGNED=true; if the master key was changed, set GATEWAY_PREVIOUS_MASTER_KEY; otherwise another program writes to the store';

/** `warn` gets a sentence each. */
export function tellSkipped(warn: (sentence: string) => void): SkippedDocuments {
  let told = new Set<string>();
  let unreadable = 0;
  let unsealed = 0;
  return {
    tell(skipped) {
      const said = told;
      told = new Set();
      const news: string[] = [];
      unsealed = 0;
      for (const { kind, id, isUnsealed = false } of skipped) {
        unsealed += isUnsealed ? 1 : 0;
        const why = isUnsealed ? 'has no good seal' : 'cannot be read';
        const name = `${kind} "${id}" ${why}`;
        if (!said.has(name)) news.push(`the stored ${kind} "${id.slice(0, longestId)}" ${why} and is skipped`);
        told.add(name);
      }
      const wasUnsealed = [...said].some((name) => name.endsWith('seal'));
      unreadable = skipped.length - unsealed;
      for (const sentence of news.slice(0, mostNamed)) warn(sentence);
      if (news.length > mostNamed) warn(`${news.length - mostNamed} more stored documents are skipped`);
      if (unsealed > 0 && !wasUnsealed) warn(advice);
    },
    counts: () => ({ unreadable, unsealed }),
  };
}
