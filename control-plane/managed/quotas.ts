// The limits on what operators may store.
import type { Config } from '../../schemas/types.ts';

/** `schemas/config/admin.schema.json`. */
export type Quotas = Config['admin'];

/** The most bytes of one stored document as JSON, so that reading all documents stays cheap. */
export const longestDocumentBytes = 16 * 1024;
