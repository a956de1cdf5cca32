// Reads the answer to GET /models: `{"object": "list", "data": [{"id": …}, …]}`; some providers send the list alone.
import { listEntries } from '../../json/list-entries.ts';

/** In steps: the ids in their order, whatever they are; undefined when the text is no such list. Throws what `listEntries` throws. */
export function readModels(text: Buffer): Generator<undefined, readonly unknown[] | undefined, undefined> {
  return listEntries(text, 'data', (entry) => (entry as { id?: unknown } | null | undefined)?.id);
}
