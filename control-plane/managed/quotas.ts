// The limits on what operators may store, with defaults until a configuration is in force.
import type { Config } from '../../schemas/types.ts';

/** `schemas/config/admin.schema.json`. */
export type Quotas = Config['admin'];

/** The defaults of the schema, until a configuration is in force. */
export const defaultQuotas: Quotas = { max_keys: 10_000, max_keys_per_scope: 1_000, max_rules_per_scope: 1_000 };

/** The most bytes of one stored document as JSON, so that reading all documents stays cheap. */
export const longestDocumentBytes = 16 * 1024;
