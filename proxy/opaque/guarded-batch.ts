// Guardrails over the calls of a batch, each as if it had come by itself; what they say of all of them is told together.
import { type Call, memberOf } from '../call/call.ts';
import { Refusal, refusal } from '../errors.ts';
import type { GuardedOperation } from '../guardrails/guarding.ts';
import type { Finding } from '../guardrails/guardrail.ts';
import { gravestOf } from '../guardrails/verdicts.ts';
import type { Route } from '../snapshot/snapshot.ts';
import { guardCall } from '../stages/guard.ts';
import { resolve } from '../stages/resolve.ts';
import type { Knock } from './door.ts';
import { doorFacts } from './door-facts.ts';
import { findingsAlone, railsFor } from './guard-body.ts';

/** Gives what guardrails leave of a call. `where` it stands, for messages. Throws, or rejects with, 400 `guardrail_blocked` that says where. */
export type BatchGuard = (operation: GuardedOperation, call: Call, where: string) => Call | Promise<Call>;

/** Undefined: no guardrail may hold for the caller. */
export function batchGuard(knock: Knock): BatchGuard | undefined {
  const { snapshot, principal } = knock;
  if (snapshot.guardrails.length === 0) return undefined;
  const findings = new Map<string, Finding>();
  let isNoted = false;
  const facts = doorFacts(knock, '/v1/batches');
  const routeOf = (call: Call): Route => resolve(call, snapshot, principal.allowedModels, facts);
  return (operation, call, where) => {
    // No body of it is recorded, so nothing is held for that.
    const rails = railsFor({ operation, call, route: routeOf(call) }, { ...knock, capture: undefined });
    if (rails === undefined) return call;
    if (!isNoted) knock.noteGuarding(findingsAlone(() => [...findings.values()]));
    isNoted = true;
    const failed = (error: unknown): never => {
      gravestOf(findings, rails.findings);
      const { refused } = rails;
      if (refused === undefined || !(error instanceof Refusal)) throw error;
      throw refusal(refused.code, { fill: { reason: `${refused.reason}, in ${where}` } });
    };
    const passed = (left: Call): Call => {
      gravestOf(findings, rails.findings);
      return left;
    };
    try {
      const guarded = guardCall(call, rails);
      return guarded instanceof Promise ? guarded.then(passed, failed) : passed(guarded);
    } catch (error) {
      return failed(error);
    }
  };
}

const operations: Readonly<Record<string, GuardedOperation>> = {
  '/v1/chat/completions': 'chat',
  '/v1/completions': 'completions',
  '/v1/responses': 'responses',
  '/v1/embeddings': 'embeddings',
  '/v1/moderations': 'moderations',
  '/v1/images/generations': 'image_generations',
  '/v1/messages': 'messages',
};

/** The endpoint that a line asks for; some providers are told it with the batch. */
export function operationAt(url: string, call: Call): GuardedOperation {
  return operations[url] ?? (memberOf(call, 'messages') === undefined ? 'responses' : 'chat');
}
