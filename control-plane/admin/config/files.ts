// The files of the configuration in force, and the text of one of them as operators may see it.
import { shownText } from '../../../gitops/read/shown-text.ts';
import { filesInForce } from '../../files-in-force.ts';
import { invalidQuery } from '../../managed/read-query.ts';
import type { DifferenceParts } from './differences.ts';

/** The body of `schemas/admin/config-files.schema.json`; `asked`: the file whose text is wanted; `secrets`: none of them is shown. Throws 400 for one that is not there. */
export async function describeFiles(
  { settings, ownFolder, status }: Pick<DifferenceParts, 'settings' | 'ownFolder' | 'status'>,
  asked: string | undefined,
  secrets: readonly string[],
): Promise<object> {
  const { revision = '' } = status() ?? {};
  const files = await filesInForce(settings.configDirectory, ownFolder, revision);
  const file = files?.find(({ name }) => name === asked);
  if (asked !== undefined && files !== undefined && file === undefined)
    throw invalidQuery('file', 'must be a file of the configuration in force');
  const text = file && shownText(file, secrets);
  return {
    config_revision: revision,
    ...(files === undefined ? {} : { files: files.map(({ name, bytes }) => ({ file: name, bytes: bytes.length })) }),
    ...(text === undefined ? {} : { text }),
  };
}
