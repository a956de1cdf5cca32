// The audit section of the config → what a request is recorded by.

import { normaliseUserPath } from '../../domain/user-path.ts';
import { sizeBytes } from '../../schemas/formats/units.ts';
import type { Config } from '../../schemas/types.ts';
import type { AuditSettings } from './snapshot.ts';

/** Paths that are none were refused with the config. */
export function compileAudit(audit: Config['audit']): AuditSettings {
  return Object.freeze({
    isEnabled: audit.enabled,
    hasBodies: audit.bodies,
    hasOriginals: audit.original_bodies,
    bodyLimitBytes: sizeBytes(audit.body_limit),
    hasHeaders: audit.headers,
    sample: audit.sample,
    without: Object.freeze(audit.without.flatMap((text) => normaliseUserPath(text).path ?? [])),
  });
}
