// The refusal of sessions to callers for whom a guardrail is enforced: it cannot look at what they say.
import { type Refusal, refusal } from '../errors.ts';

export function closedToGuarded(): Refusal {
  return refusal('guardrails_prevent_endpoint', { fill: { what: 'sessions of the realtime API' } });
}
