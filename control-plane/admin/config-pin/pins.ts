// Reads and decides which revision of the configuration is pinned, or that none is.
import {
  type ConfigPin,
  configPinId,
  longestPinMs,
  mostPinnedCharacters,
} from '../../../domain/config-pins/config-pin.ts';
import { configPins } from '../../../domain/documents/kinds.ts';
import { removed, written } from '../../../domain/documents/managed-kind.ts';
import { packFiles } from '../../../gitops/read/packed-files.ts';
import type { SourceFile } from '../../../gitops/read/read.ts';
import { bodies } from '../../../schemas/validation/generated/bodies.js';
import type { Change } from '../../../store/state/state-store.ts';
import { refusal } from '../../errors.ts';
import { type Known, refuseUnset, signature } from '../../managed/known.ts';
import { createBodyReader, invalid, readExpiry, readWords } from '../../managed/read-body.ts';
import type { Named } from '../../managed/resource.ts';
import { mayHoldSecret } from '../../secrets-in-files.ts';

/** The revisions whose files are kept. */
export interface PinnableRevisions {
  /** The revision that was in force before the present one; undefined: none is known. Rejects with `StoreUnavailable`. */
  previous(): Promise<string | undefined>;
  /** The files of a revision, unexpanded; undefined: they are not kept. Rejects with `StoreUnavailable`. */
  filesOf(revision: string): Promise<readonly SourceFile[] | undefined>;
  /** Those that are known: files that hold one are not stored. */
  secrets(): readonly string[];
}

export interface WantedPin extends Named {
  readonly revision: string;
  /** Packed. */
  readonly files: string;
  readonly reason: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

export type KnownPins = Known<never, ConfigPin>;

const readBody = createBodyReader(bodies.configPinWrite);

/**
 * The body of a PUT (`schemas/admin/config-pin-write.schema.json`) with the files that it means. Rejects with the refusal, and with
 * `StoreUnavailable`.
 */
export async function readPin(body: unknown, nowMs: number, revisions: PinnableRevisions): Promise<WantedPin> {
  const given = readBody(body);
  const reason = readWords(given.reason.trim());
  if (reason === undefined) throw invalid('reason', 'must say why');
  const expiresAtMs = readExpiry(given, nowMs);
  if (expiresAtMs === undefined) throw invalid('expires_in', 'is missing; a pin has an end, expires_in or expires_at');
  const member = given.expires_in === undefined ? 'expires_at' : 'expires_in';
  if (expiresAtMs > nowMs + longestPinMs) throw invalid(member, 'must be at most 30 days from now');
  const revision = given.revision === 'previous' ? await previousOf(revisions) : given.revision;
  return { key: configPinId, revision, files: await packedFiles(revision, revisions), reason, expiresAtMs };
}

export function putPin({ manual, nowMs }: KnownPins, { expiresAtMs, ...wanted }: WantedPin, by: string): Change {
  const { expiresAt = '', ...dates } = signature(manual.get(configPinId), expiresAtMs, by, nowMs);
  return written(configPins, configPinId, { ...wanted, key: configPinId, expiresAt, ...dates });
}

/** Throws 404 `config_pin_not_found`. */
export function endPin(known: KnownPins): Change {
  refuseUnset(known, configPinId, { configOwned: 'config_pin_not_found', notFound: 'config_pin_not_found' });
  return removed(configPins, configPinId);
}

/** As `schemas/admin/config-pin.schema.json` says: without the files. */
export function describePin({ revision, reason, expiresAt, createdAt, updatedAt, updatedBy }: ConfigPin): object {
  return {
    revision,
    reason,
    expires_at: expiresAt,
    created_at: createdAt,
    updated_at: updatedAt,
    updated_by: updatedBy,
  };
}

async function previousOf(revisions: PinnableRevisions): Promise<string> {
  const previous = await revisions.previous();
  if (previous !== undefined) return previous;
  throw refusal('config_revision_not_found', {
    param: 'revision',
    fill: { what: 'No revision is kept that was in force before this one' },
  });
}

async function packedFiles(revision: string, revisions: PinnableRevisions): Promise<string> {
  const files = await revisions.filesOf(revision);
  if (files === undefined) {
    const what = `No files of a revision "${revision}" are kept`;
    throw refusal('config_revision_not_found', { param: 'revision', fill: { what } });
  }
  if (await mayHoldSecret(files, revisions.secrets())) {
    const what = `No files of revision "${revision}" can be pinned, because a secret seems to be written out in them: write a reference`;
    throw refusal('config_revision_not_found', { param: 'revision', fill: { what } });
  }
  const packed = await packFiles(files);
  if (packed.length <= mostPinnedCharacters) return packed;
  const fill = { revision, bytes: packed.length, limit: mostPinnedCharacters };
  throw refusal('config_too_large_to_pin', { param: 'revision', fill });
}
