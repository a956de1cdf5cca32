// Checks what the schema of a guardrail cannot express of one that an operator writes.
import { storedSecret } from '../../../domain/guardrails/manual-guardrail.ts';
import { guardrailMistakes, webhookProblem } from '../../../domain/guardrails/mistakes.ts';
import type { Guardrail } from '../../../schemas/types.ts';
import { loadFormCompiler } from '../../../schemas/validation/answer-form.ts';
import { formatPath } from '../../../schemas/validation/path.ts';
import { invalid } from '../../managed/read-body.ts';
import { readUserPaths } from '../../managed/read-subject.ts';

/** The guardrail with its user paths normalised. Rejects with 400 naming the member. */
export async function checkGuardrail(guardrail: Guardrail): Promise<Guardrail> {
  if (guardrail.schema !== undefined) await loadFormCompiler();
  const [mistake] = guardrailMistakes(guardrail);
  if (mistake !== undefined) throw invalid(formatPath(mistake.place), mistake.message);
  checkWebhook(guardrail);
  const { user_paths: paths } = guardrail;
  return paths === undefined ? guardrail : { ...guardrail, user_paths: readUserPaths(paths) };
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
