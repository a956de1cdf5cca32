// Texts that are the address or the name of an object at Google, in every spelling that a lenient reader may take for it.
import type { FamilyName } from './families.ts';
import { decoded } from './path-objects.ts';

const resources: Readonly<Record<string, FamilyName>> = {
  cachedcontents: 'cached_content',
  tunedmodels: 'tuned_model',
  filesearchstores: 'file_search_store',
  corpora: 'file_search_store',
  ragcorpora: 'file_search_store',
};
const resource = /(?:cachedContents|tunedModels|fileSearchStores|corpora)\//i;
const resourceName = /^\/*(?:v\d\w*\/)?(?:projects\/[^/]+\/locations\/[^/]+\/)?(\w+)\/([A-Za-z0-9_-]+)(?:\/[\w/-]+)?$/;
const isVersion = /^(?:v\d\w*|upload|download)$/i;
const fileId = /^[a-z0-9][a-z0-9-]*/i;

/** The object that a text such as `cachedContents/abc` names. */
export function resourceNamed(text: string): { readonly family: FamilyName; readonly id: string } | undefined {
  if (!resource.test(text)) return undefined;
  const [, place = '', id = ''] = resourceName.exec(text.trim()) ?? [];
  const family = resources[place.toLowerCase()];
  return family === undefined ? undefined : { family, id };
}

/** The id of the file whose address a text is, such as `files/abc`, with or without its host; undefined: it is none. */
export function fileAddressed(text: string): string | undefined {
  const address = text.startsWith('data:') ? '' : decoded(text.trim()).trim();
  if (!/files[/\\]/i.test(address)) return undefined;
  const segments = address.split(/[/\\]/).filter((segment) => segment !== '' && segment !== '.');
  const at = segments.findIndex((segment) => segment.toLowerCase() === 'files');
  const isFile = isAtGoogle(address, segments, at) || segments.slice(0, at).every((segment) => isVersion.test(segment));
  return at !== -1 && isFile ? fileId.exec(segments[at + 1] ?? '')?.[0]?.toLowerCase() : undefined;
}

/** `at`: where `files` stands. Of other hosts of Google only what stands at the top is a file. */
function isAtGoogle(address: string, segments: readonly string[], at: number): boolean {
  const hasScheme = /^https?:$/i.test(segments[0] ?? '');
  if (!hasScheme && !/^[/\\]{2}/.test(address)) return false;
  const hostAt = hasScheme ? 1 : 0;
  const host = segments[hostAt]?.toLowerCase().replace(/(?::\d+)?$/, '') ?? '';
  if (host.includes('generativelanguage')) return true;
  return /googleapis\.com\.?$/.test(host) && segments.slice(hostAt + 1, at).every((each) => isVersion.test(each));
}
