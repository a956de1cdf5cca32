// The revision that an operator has pinned: all proxies keep to it until an end, whatever their directories hold. And its document.
import { type Authorship, authorshipBody, expiryMs, readAuthorship } from '../rules/authorship.ts';

/** The kind of its document, of which there is one. */
export const configPinKind = 'config_pin';
export const configPinId = 'config';

/** The most characters of `files`, so that the documents of a store can be read at once: some 7 MiB of YAML. */
export const mostPinnedCharacters = 1_048_576;
/** Who pins for longer means to revert. Milliseconds. */
export const longestPinMs = 30 * 86_400_000;

export interface ConfigPin extends Authorship {
  readonly key: typeof configPinId;
  /** As logs show it. */
  readonly revision: string;
  /** The files of the revision, packed, variables unexpanded; see `packFiles`. */
  readonly files: string;
  readonly reason: string;
  readonly expiresAt: string;
}

/** The pin of a document; undefined when the body is none. Unknown members are ignored. */
export function readConfigPin(id: string, body: unknown): ConfigPin | undefined {
  if (id !== configPinId || typeof body !== 'object' || body === null) return undefined;
  const members = body as Readonly<Record<string, unknown>>;
  const { revision, files } = members;
  const authorship = readAuthorship(members);
  const { reason, expiresAt } = authorship ?? {};
  if (authorship === undefined || reason === undefined || expiresAt === undefined) return undefined;
  if (typeof revision !== 'string' || typeof files !== 'string' || files.length > mostPinnedCharacters)
    return undefined;
  return Object.freeze({ key: configPinId, revision, files, ...authorship, reason, expiresAt });
}

/** The inverse of `readConfigPin`. */
export function configPinBody(pin: ConfigPin): object {
  return { revision: pin.revision, files: pin.files, ...authorshipBody(pin) };
}

/** The pin that is in force at a time, in Unix milliseconds. */
export function standingPin(pins: readonly ConfigPin[], nowMs: number): ConfigPin | undefined {
  return pins.find((pin) => expiryMs(pin) > nowMs);
}
