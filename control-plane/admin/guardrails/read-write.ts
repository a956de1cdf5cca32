// Reads the bodies of writes to guardrails: by the schema of the configuration, and by the rules that it cannot express.
import { storedSecret } from '../../../domain/guardrails/manual-guardrail.ts';
import { guardrailMistakes, webhookProblem } from '../../../domain/guardrails/mistakes.ts';
import type { Guardrail, GuardrailWrite } from '../../../schemas/types.ts';
import { loadFormCompiler } from '../../../schemas/validation/answer-form.ts';
import { explain } from '../../../schemas/validation/explain.ts';
import * as bodies from '../../../schemas/validation/generated/bodies.js';
import { guardrail as isGuardrail } from '../../../schemas/validation/generated/config.js';
import { formatPath } from '../../../schemas/validation/path.ts';
import { complaintsOf } from '../../../schemas/validation/validator.ts';
import { jsonWording } from '../../managed/json-wording.ts';
import { createBodyReader, invalid } from '../../managed/read-body.ts';
import { readUserPaths } from '../../managed/read-subject.ts';

const readWriteBody = createBodyReader(bodies.guardrailWrite);
const readDeleteBody = createBodyReader(bodies.guardrailDelete);

/** The body of PUT /admin/guardrails (`schemas/admin/guardrail-write.schema.json`), with its defaults. Rejects with 400 naming the member. */
export async function readWrite(body: unknown): Promise<Guardrail> {
  const given: GuardrailWrite = readWriteBody(body);
  if (given.schema !== undefined) await loadFormCompiler();
  if (!isGuardrail(given)) {
    const complaints = complaintsOf(isGuardrail.errors, given);
    const [first] = explain(complaints, { source: given, wording: jsonWording });
    throw invalid(formatPath(first?.path ?? []), first?.message ?? 'is not what its schema describes');
  }
  const [mistake] = guardrailMistakes(given);
  if (mistake !== undefined) throw invalid(formatPath(mistake.place), mistake.message);
  checkWebhook(given);
  const { user_paths: paths } = given;
  return paths === undefined ? given : { ...given, user_paths: readUserPaths(paths) };
}

/** The name in the body of DELETE /admin/guardrails. Throws the refusal. */
export function readDelete(body: unknown): string {
  return readDeleteBody(body).name;
}

/** The state store holds no secret of an operator's services, and no variable is filled in there. */
function checkWebhook(guardrail: Guardrail): void {
  const { webhook } = guardrail;
  if (webhook === undefined) return;
  const secret = storedSecret(guardrail);
  if (secret !== undefined)
    throw invalid(`webhook.${secret}`, 'belongs into the configuration, where variables are filled in');
  if (webhook.url.includes('${')) throw invalid('webhook.url', 'has a variable, which only the configuration fills in');
  const problem = webhookProblem(webhook.url);
  if (problem !== undefined) throw invalid('webhook.url', problem);
}
