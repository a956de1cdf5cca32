// Who has asked, as records are kept and found by it: a client, or the gateway itself.
import type { AskedBy, RequestRecord } from '../../../domain/records/request-record.ts';
import { type Condition, condition } from './condition.ts';
import type { Dialect } from './dialect.ts';

export function askedByOf({ asked_by }: RequestRecord): AskedBy {
  return asked_by === 'gateway' ? 'gateway' : 'client';
}

/** Of the tables `combo` and `usage_path`; undefined: all. */
export function isAskedBy(asker: AskedBy | undefined): Condition | undefined {
  return asker === undefined ? undefined : condition('asked_by = ?', asker);
}

/**
 * A migration: older records are the gateway's where their user path ends as that of its questions does. Their names get a key that no later
 * record has, so that a client with such a user path is not taken for the gateway from now on.
 */
export function askedByColumns({ text }: Dialect): readonly string[] {
  const marked = "asked_by = 'gateway', key = 'gateway ' || key";
  const begun = (column: string): string => `${column} = '{"asked_by":"gateway",' || substr(${column}, 2)`;
  return [
    `ALTER TABLE usage_path ADD COLUMN asked_by ${text} NOT NULL DEFAULT 'client'`,
    `UPDATE usage_path SET ${marked} WHERE ${isOfGateway('folded_path')}`,
    `ALTER TABLE combo ADD COLUMN asked_by ${text} NOT NULL DEFAULT 'client'`,
    `UPDATE combo SET ${marked} WHERE ${isOfGateway('user_path')}`,
    `UPDATE entry_data SET ${begun('listed')}, ${begun('complete')} WHERE id IN
       (SELECT entry.id FROM entry JOIN combo ON combo.id = entry.combo WHERE combo.asked_by = 'gateway')`,
  ];
}

/** `…/cache/semantic`, or `…/guardrails/` and a name. */
function isOfGateway(path: string): string {
  return `${path} LIKE '%/cache/semantic' OR (${path} LIKE '%/guardrails/%' AND ${path} NOT LIKE '%/guardrails/%/%')`;
}
