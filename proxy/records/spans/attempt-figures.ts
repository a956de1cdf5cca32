// The figures of an attempt that is over, by the conventions for generative AI. A user path or a key is in no attribute.
import type { Refusal } from '../../errors.ts';
import type { TokenUsage } from '../../tokens/token-usage.ts';
import type { PlacedAttempt, RecordedAttempt } from '../attempts.ts';
import { operationOf, providerNameOf } from './gen-ai-names.ts';

export type Attributes = Record<string, string | number | boolean>;

/** Where figures of attempts go. Their attributes have a bounded number of values. */
export interface Figures {
  /** `gen_ai.client.operation.duration`, in seconds. */
  duration(seconds: number, attributes: Attributes): void;
  /** `gen_ai.client.token.usage`. */
  tokens(count: number, attributes: Attributes): void;
}

/** The outcome of an attempt. Milliseconds of the gateway's clock. */
export interface AttemptOutcome {
  readonly endedAtMs: number;
  /** Undefined: it went well. */
  readonly refused: Refusal | undefined;
  readonly usage: TokenUsage | undefined;
}

export function outcomeOf({ attempt, accepted }: PlacedAttempt): AttemptOutcome {
  if (accepted === undefined) return { ...attempt, usage: attempt.usage };
  return { endedAtMs: accepted.endedAtMs, refused: accepted.broken, usage: accepted.usage };
}

/** `error.type`: the status that stands for an error, else the gateway's own code. A provider's own codes are not among them: they are without number. */
export function errorTypeOf({ code }: Refusal, status = 0): string {
  return status >= 400 ? String(status) : (code ?? '_OTHER');
}

/** Attributes that the metrics and the span of an attempt share: the provider, the operation and the model. */
export function targetAttributes({ upstream, model }: RecordedAttempt['target'], endpoint: string): Attributes {
  const { host, port } = addressOf(upstream.origin);
  return {
    'gen_ai.operation.name': operationOf(endpoint),
    'gen_ai.provider.name': providerNameOf(upstream.type),
    ...(model === '' ? undefined : { 'gen_ai.request.model': model }),
    'server.address': host,
    'server.port': port,
  };
}

/** Counts an attempt that reached its provider. Tokens are told as far as the provider has said them: an estimate is none of its figures. */
export function measureAttempt(placed: PlacedAttempt, endpoint: string, figures: Figures): void {
  const { attempt } = placed;
  if (attempt.isSent === false) return;
  const { target, startedAtMs, answer } = attempt;
  const { endedAtMs, refused, usage } = outcomeOf(placed);
  // Of what is passed on as it is, the client names any model it likes.
  const attributes = targetAttributes(target.isPassed ? { ...target, model: '' } : target, endpoint);
  const error = refused === undefined ? undefined : { 'error.type': errorTypeOf(refused, answer?.status) };
  figures.duration((endedAtMs - startedAtMs) / 1000, { ...attributes, ...error });
  if (usage?.source !== 'reported') return;
  figures.tokens(usage.inputTokens, { ...attributes, 'gen_ai.token.type': 'input' });
  figures.tokens(usage.outputTokens, { ...attributes, 'gen_ai.token.type': 'output' });
}

const addresses = new Map<string, { readonly host: string; readonly port: number }>();
/** Origins come with the config: beyond so many, those of former configs are forgotten. */
const mostAddresses = 1_000;

function addressOf(origin: string): { readonly host: string; readonly port: number } {
  const known = addresses.get(origin);
  if (known !== undefined) return known;
  const { hostname, port, protocol } = new URL(origin);
  const address = { host: hostname, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) };
  if (addresses.size >= mostAddresses) addresses.clear();
  addresses.set(origin, address);
  return address;
}
