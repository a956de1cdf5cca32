// The kind of a call's failure: it decides whether the request is tried again, and how the target's breaker counts it.
import type { Refusal } from '../../errors.ts';
import type { RetryReason } from '../../snapshot/retry-policy.ts';
import type { UpstreamFailure } from '../../upstream/failure.ts';

/** The outcome of a failed call. */
export interface Failed {
  readonly refused: Refusal;
  /** The answer did not come completely; undefined: it did, and cannot be relayed. */
  readonly failure: UpstreamFailure | undefined;
  /** Status of the answer, or of the error within it; 0: none came. */
  readonly status: number;
  readonly stream: boolean;
}

/** Codes of providers such as `model_not_found` and `unsupported_model`. */
const modelCode = /model/i;
const missingCode = /not_?found|unsupported|unavailable|deprecated|not_?available/i;
const modelWords = /\bmodel\b/i;
const missingWords =
  /not found|does not exist|unsupported|not supported|unavailable|not available|deprecated|retired|disabled/i;

/**
 * The kind of a failure. Undefined: it must not be tried again, because the provider may have done the work (it broke off behind the request,
 * before an answer), or because the request itself is wrong.
 */
export function failureKind({ refused, failure, status, stream }: Failed): RetryReason | undefined {
  if (failure !== undefined) return kindOfFailure(failure, stream);
  if (refused.code === 'upstream_unauthorized' || refused.status === 403) return 'unauthorized';
  if (saysNoMoney(refused)) return 'unauthorized';
  if (refused.code === 'upstream_invalid_response') return 'invalid_answer';
  if (refused.status === 429) return 'rate_limit';
  if (refused.status >= 500) return status >= 500 ? 'server_error' : 'invalid_answer';
  return saysModelIsMissing(refused) ? 'model_unavailable' : undefined;
}

function kindOfFailure({ failure, sent }: UpstreamFailure, stream: boolean): RetryReason | undefined {
  if (!sent) return 'connect';
  if (failure.code === 'upstream_timeout') return 'timeout';
  // A stream that breaks off before its first event has said nothing; other answers may have been under way.
  if (failure.code === 'upstream_disconnected') return stream ? 'invalid_answer' : undefined;
  return 'invalid_answer';
}

/** Codes and types such as `insufficient_quota`, `billing_error`, `billing_hard_limit_reached` and `Arrearage`. */
const moneyCode = /insufficient_?(balance|credits?|funds|quota)|billing|arrearage|overdue|payment_required/i;
const moneyWords =
  /credit balance is too low|insufficient (account )?(balance|credits?|funds)|billing (hard )?limit|out of credits|account is (in arrears|overdue)|account is in good standing/i;

/** It is the gateway's account there that is used up, and not the request that is wrong. A 429 is a limit, whatever it says. */
function saysNoMoney({ status, code, message, further }: Refusal): boolean {
  if (status === 402) return true;
  if (status < 400 || status >= 500 || status === 429) return false;
  const type = further['provider_type'];
  return [code, type].some((said) => typeof said === 'string' && moneyCode.test(said)) || moneyWords.test(message);
}

/** Only codes count where the words may be about a parameter ("… is not supported by this model"). */
function saysModelIsMissing({ status, code, message }: Refusal): boolean {
  if (code !== null && modelCode.test(code) && missingCode.test(code)) return true;
  return (status === 404 || status === 410) && modelWords.test(message) && missingWords.test(message);
}
