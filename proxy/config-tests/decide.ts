// What becomes of the request of a test: decided by the limiter, the budgets, the routes and the guardrails of the gateway.
import { budgetTitle } from '../../domain/budgets/budget.ts';
import { ruleLabel } from '../../domain/rules/rule.ts';
import type { ConfigTest } from '../../schemas/types.ts';
import type { Refusal } from '../errors.ts';
import { consumerOf, explainRequest } from '../explain/explain.ts';
import { foreseenRefusal } from '../explain/foreseen-refusal.ts';
import { countingOf, type Question } from '../explain/question.ts';
import { type Resolved, resolveName } from '../explain/resolution.ts';
import { nameOf, targetSteps } from '../explain/target-steps.ts';
import { rulesOfConsumer, rulesOfTarget } from '../limits/counted-rules.ts';
import { waitOf } from '../limits/rejection.ts';
import { reserveTokens } from '../limits/reserve.ts';
import { wantedAt } from '../replay/await-answer.ts';
import { dollarsOfTokens } from '../replay/cost-of-tokens.ts';
import { askedBy } from './asked.ts';
import type { Came, CameRefusal, SaidByGuardrails } from './came.ts';
import { type CompiledConfig, createTestWorld, type TestWorld } from './compiled.ts';
import { guardText } from './guard-text.ts';
import { countUsed, namesOfRule } from './used-before.ts';

const nothingSaid: SaidByGuardrails = { findings: [], unasked: [], refusal: undefined };

/** Throws a `TestMistake` for what the configuration does not have. */
export async function decide({ given }: ConfigTest, compiled: CompiledConfig): Promise<Came> {
  const { question, refused } = askedBy(given, compiled);
  if (refused !== undefined) return refusedAtOnce(refused);
  const allowed = consumerOf(question);
  const userPath = allowed ?? question.userPath;
  const { world, resolved } = begin(given, { question, userPath }, compiled);
  const { route } = resolved;
  const foreseen = foreseenRefusal({ userPath: allowed, resolved }, question, world);
  const text = given.text;
  const guardrails =
    text === undefined || route === undefined
      ? nothingSaid
      : await guardText(text, { userPath, model: question.model, route }, compiled.snapshot.guardrails);
  const targets = targetSteps(resolved, question, world);
  const isOfTargets = foreseen !== undefined && isRefusedByTargets(foreseen.code, userPath, question, world);
  const ofGuardrail = foreseen === undefined || isOfTargets ? guardrails.refusal : undefined;
  const ofTokens =
    foreseen === undefined && ofGuardrail === undefined
      ? reserved(given, { question, userPath, resolved }, world)
      : undefined;
  const asked = targets.filter(({ would }) => would !== 'skip');
  const [first] =
    asked.length === 0 ? [] : (resolved.able?.targets ?? []).filter((each) => nameOf(each) === asked[0]?.target);
  const [step] = resolved.resolution.aliases;
  return {
    refusal:
      ofGuardrail ??
      (foreseen === undefined
        ? ofTokens
        : { ...foreseen, names: namesOf(foreseen, world), retryAfterSeconds: foreseen.retry_after_seconds }),
    targets: asked.map(({ target }) => target),
    alias: step === undefined ? [] : [step.name, ...(step.family === undefined ? [] : [step.family])],
    guardrails,
    price: given.tokens === undefined ? undefined : dollarsOfTokens(tokensOf(given), first?.price),
    explain: () => explainRequest(question, { ...world, inForce: compiled.inForce }),
  };
}

function refusedAtOnce({ status, code, message }: Refusal): Came {
  return {
    refusal: { status, code: code ?? '', message, names: [], retryAfterSeconds: undefined },
    targets: [],
    alias: [],
    guardrails: nothingSaid,
    price: undefined,
    explain: () => undefined,
  };
}

interface Consumer {
  readonly question: Question;
  /** Normalised. */
  readonly userPath: string;
}

/** The world of the test, with what was used before it. */
function begin(
  { used_before: used = [], down = [] }: ConfigTest['given'],
  { question, userPath }: Consumer,
  compiled: CompiledConfig,
): { readonly world: TestWorld; readonly resolved: Resolved } {
  const { snapshot, brief, index } = compiled;
  const counts = countingOf(question);
  const labels = question.key?.labels ?? [];
  const resolved = resolveName(question, userPath, { snapshot, inForce: brief } as TestWorld);
  const places = resolved.route?.targets ?? [];
  const others = used.flatMap(({ user_path: other }) => (other === undefined ? [] : [other]));
  const scope = { userPaths: [userPath, ...others], labels, down };
  const ofTargets = places.map(({ upstream, model }) => index.forTarget(upstream.name, model));
  const world = createTestWorld(compiled, { ...scope, ofTargets }, question.nowMs);
  if (used.length === 0) return { world, resolved };
  const { able } = resolved;
  const [first] = able === undefined ? [] : world.foretell(able, { nowMs: question.nowMs, thread: question.thread });
  const rulesAt = (target: (typeof places)[number]) => rulesOfTarget(counts, target, world.limiter);
  countUsed(
    used,
    {
      userPath,
      labels,
      nowMs: question.nowMs,
      ofConsumer: (path) => rulesOfConsumer(counts, path, world.limiter),
      ofFirst: first === undefined ? [] : [rulesAt(first)],
      ofTargets: places.map(rulesAt),
    },
    world,
  );
  return { world, resolved };
}

/** Guardrails look before targets are asked, and after the consumer was counted. */
function isRefusedByTargets(code: string, userPath: string, question: Question, world: TestWorld): boolean {
  if (code !== 'rate_limit_exceeded' && code !== 'target_drained') return false;
  return waitOf(rulesOfConsumer(countingOf(question), userPath, world.limiter), question.nowMs) === 0;
}

function tokensOf({ tokens: { input = 0, output = 0, cached = 0 } = {} }: ConfigTest['given']) {
  return { input, output, cached };
}

/** The tokens that the consumer has to set aside; gives everything back. */
function reserved(
  given: ConfigTest['given'],
  { question, userPath, resolved }: Consumer & { readonly resolved: Resolved },
  { limiter }: TestWorld,
): CameRefusal | undefined {
  if (given.tokens === undefined || countingOf(question) === 'nothing') return undefined;
  const { nowMs } = question;
  const matches = rulesOfConsumer(countingOf(question), userPath, limiter);
  if (!limiter.countsTokens(matches)) return undefined;
  const { lease } = limiter.admit(matches, nowMs);
  if (lease === undefined) return undefined;
  const tokens = tokensOf(given);
  const wanted = (resolved.able?.targets ?? []).map((target) =>
    wantedAt(limiter, { target: nameOf(target), consumer: userPath }, {}, tokens),
  );
  const rejection = reserveTokens(lease, matches, Math.max(0, ...wanted), nowMs);
  if (rejection === undefined) {
    lease.refund(nowMs);
    return undefined;
  }
  return {
    status: 429,
    code: 'rate_limit_exceeded',
    message: 'what is left of the tokens is less than the request would set aside',
    names: namesOfRule(rejection.rule),
    retryAfterSeconds: rejection.retryAfterSeconds,
  };
}

function namesOf(
  { code, rule }: { readonly code: string; readonly rule?: string },
  world: TestWorld,
): readonly string[] {
  if (rule === undefined) return [];
  if (code !== 'budget_exceeded') {
    const found = world.rules.filter((each) => ruleLabel(each) === rule);
    return found.length === 0 ? [rule] : found.flatMap(namesOfRule);
  }
  const budget = world.metBudgets.find(({ id }) => id === rule);
  return budget === undefined ? [rule] : [budgetTitle(budget), budget.id];
}
