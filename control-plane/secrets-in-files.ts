// Whether a secret stands in files of the configuration, in the place of a reference: such files are stored in no database.
import { setImmediate } from 'node:timers/promises';
import type { SourceFile } from '../gitops/read/read.ts';
import { withoutSecrets } from '../schemas/formats/key-shapes.ts';

/** A shorter key of a provider stands for none, such as `EMPTY` or `ollama`. */
const leastLetters = 20;

/** Whether one of these secrets, or what looks like a key, is written out in a file. */
export async function mayHoldSecret(
  files: readonly Pick<SourceFile, 'bytes'>[],
  secrets: readonly string[],
): Promise<boolean> {
  const sought = secrets.filter(({ length }) => length >= leastLetters);
  for (const { bytes } of files) {
    const text = Buffer.from(bytes).toString('utf8');
    if (withoutSecrets(text, sought) !== text) return true;
    // Large ones take their time in this thread, which answers operators.
    await setImmediate();
  }
  return false;
}
