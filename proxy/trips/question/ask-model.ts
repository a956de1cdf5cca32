// Asks a configured model in the name of the gateway itself: for a guardrail that a model judges, and for the embeddings of the cache.
import type { JsonObject } from '../../dialects/json/json.ts';
import { travel } from '../pipeline.ts';
import type { AuxiliaryParts, Question, ServedRequest } from './question.ts';
import { QuestionTrip, questionKind } from './question-trip.ts';

/**
 * The whole answer of a model, in the dialect of OpenAI, up to 1 MiB. The call goes the way of a client's request, without guardrails and
 * cache: budgets of the path `<path of the caller>/<purpose>/<name>`, failover, breakers, rules of provider and model; and it has an audit entry
 * and a usage record of its own, marked as the gateway's, with the request id and in the session of the request that it serves. Rules of user
 * paths do not count it: that request has counted already.
 *
 * Rejects with a Refusal: what a client would be told, `auxiliary_timeout` after `timeoutMs`, or `client_left` when `signal` fires. A call that
 * is broken off gives its slots back at once, and is charged for what was sent.
 */
export function askModel(question: Question, served: ServedRequest, gateway: AuxiliaryParts): Promise<JsonObject> {
  const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
  const trip = new QuestionTrip(question, served, { resolve, reject }, gateway);
  void travel(trip, questionKind(gateway), gateway);
  return promise;
}
