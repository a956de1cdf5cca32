// How an answer goes to its client: that of a provider as it is, or translated; and one of the gateway itself.
import type { Answer, Tap } from '../answer.ts';
import { type Call, memberOf } from '../call/call.ts';
import type { Surface } from '../dialects/dialect.ts';
import type { Exchange } from '../http/exchange.ts';
import type { KeyHolder } from '../kept/key-streams.ts';
import { SecretsTap } from '../providers/secrets-tap.ts';
import { AnswerNamesTap } from '../records/spans/answer-names.ts';
import type { UsageSource } from '../tokens/token-usage.ts';
import { UsageTap } from '../tokens/usage-tap.ts';
import { droppedOf } from '../translation/losses.ts';
import { TranslatedHead } from '../translation/translated-head.ts';
import { TranslationTap } from '../translation/translation-tap.ts';
import { announce, idHeaders } from './announce.ts';
import type { Accepted } from './attempts.ts';
import type { Delivery } from './relay.ts';

/** The answer that is relayed, and the source of its cost when that is over. */
export interface Delivered {
  readonly delivery: Delivery;
  readonly usage: UsageSource;
}

/** Who gets it. */
interface Asker {
  readonly principal: KeyHolder | undefined;
  readonly exchange: Pick<Exchange, 'id' | 'trace'>;
  /** Parts of its request that guardrails left out. */
  readonly guarding?: { readonly leftOut?: readonly string[] } | undefined;
}

export function deliver(
  accepted: Accepted,
  { principal, exchange, guarding }: Asker,
  {
    nowMs,
    reportFailure,
    usageEnabled,
  }: {
    readonly nowMs: () => number;
    readonly reportFailure: (error: unknown, requestId: string) => void;
    readonly usageEnabled: boolean;
  },
): Delivered {
  const { answer, named: names, reading, routed, target } = accepted;
  const { name: provider, secrets } = target.upstream;
  const now = Math.floor(nowMs());
  const { consumer, surface } = routed;
  const dropped = droppedOf(guarding, reading);
  const headers = announce({ ...accepted, consumer, surface, dropped }, exchange.id, now);
  const named: Tap[] = [new AnswerNamesTap(answer, names, secrets)];
  if (exchange.trace?.isSampled) named.push(new AnswerNamesTap(answer, exchange.trace, secrets));
  if (reading === undefined) {
    const choices = answer.stream ? choicesOf(routed.call) : undefined;
    const usage = new UsageTap(routed, accepted, { readsUsage: usageEnabled, choices });
    const taps = [...named, usage, new SecretsTap(secrets, answer.stream)];
    return { delivery: { answer, provider, taps, headers, holder: principal }, usage };
  }
  const { translated, answer: read, written } = reading;
  const report = (error: unknown): void => reportFailure(error, exchange.id);
  const { rescuing } = accepted;
  const asked = { asked: routed, secrets, readsUsage: usageEnabled, nowMs: now, report, rescuing };
  const usage = new TranslationTap({ answer, translated, read, written, ...asked });
  const told = new TranslatedHead(answer, routed.call.stream);
  return { delivery: { answer: told, provider, taps: [...named, usage], headers, holder: principal }, usage };
}

/** How many choices were asked for; one where that is not said clearly. */
function choicesOf(call: Call): number {
  const asked = memberOf(call, 'n');
  const choices = asked === undefined ? 1 : Number(call.body.toString('latin1', asked.valueStart, asked.valueEnd));
  return Number.isSafeInteger(choices) && choices > 0 ? choices : 1;
}

/** An answer of the gateway itself. */
export function ownDelivery(answer: Answer, surface: Surface, requestId: string): Delivery {
  return { answer, provider: undefined, taps: [], headers: idHeaders(surface, requestId), holder: undefined };
}
