// Reads the bodies of writes to virtual models: normalises them and checks what the schemas cannot express. Pure.
import { aliasKey } from '../../../domain/aliases/manual-alias.ts';
import { sourceProblem } from '../../../domain/aliases/mistakes.ts';
import type { Alias } from '../../../schemas/types.ts';
import { isWithinRange } from '../../../schemas/validation/formats.ts';
import { bodies } from '../../../schemas/validation/generated/bodies.js';
import { createBodyReader, invalid } from '../../managed/read-body.ts';
import { readUserPaths } from '../../managed/read-subject.ts';
import { checkConditions } from './check-conditions.ts';

/** The alias that a request names. */
export interface NamedAlias {
  readonly key: string;
  readonly source: string;
}

/** The alias of a PUT. */
export interface AliasWrite extends NamedAlias {
  /** Absent: as it was. */
  readonly enabled: boolean | undefined;
  readonly alias: Omit<Alias, 'enabled'>;
  /** The member that holds a target: `target`, `target_model` or `targets[0].model`. */
  readonly memberOf: (target: number) => string;
}

const readWriteBody = createBodyReader(bodies.virtualModelWrite);
const readDeleteBody = createBodyReader(bodies.virtualModelDelete);

/** The body of PUT /admin/virtual-models (`schemas/admin/virtual-model-write.schema.json`). Rejects with the refusal. */
export async function readWrite(body: unknown): Promise<AliasWrite> {
  const {
    target,
    target_model: targetModel,
    targets,
    enabled,
    user_paths: userPaths,
    ...settings
  } = readWriteBody(body);
  const problem = sourceProblem(settings.source);
  if (problem !== undefined) throw invalid('source', problem);
  if (!isWithinRange('duration', settings.retry?.deadline ?? '1s'))
    throw invalid('retry.deadline', 'is out of range; expected 1ms to 596h');
  const single = target ?? targetModel;
  const name = target === undefined ? 'target_model' : 'target';
  const { source, ...rest } = settings;
  const alias = {
    source,
    targets: single === undefined ? (targets ?? []) : [{ model: single, weight: 1 }],
    ...rest,
    ...(userPaths === undefined ? {} : { user_paths: readUserPaths(userPaths) }),
  };
  await checkConditions(alias);
  return {
    key: aliasKey(source),
    source,
    enabled,
    alias,
    memberOf: (index) => (single === undefined ? `targets[${index}].model` : name),
  };
}

/** The source in the body of DELETE /admin/virtual-models (`schemas/admin/virtual-model-delete.schema.json`). Throws the refusal. */
export function readDelete(body: unknown): NamedAlias {
  const { source } = readDeleteBody(body);
  return { key: aliasKey(source), source };
}
