// The services that guardrails can ask: one of the operator, or a model. The pipeline provides them for one request.
import type { JsonObject } from '../dialects/json/json.ts';
import type { Hook, HookReply } from '../upstream/hooks.ts';

/** A question to a configured model. */
export interface ModelQuestion {
  /** Of the guardrail. */
  readonly name: string;
  /** A chat completion of OpenAI. */
  readonly body: JsonObject;
  readonly timeoutMs: number;
}

export interface Outside {
  /** Never rejects. */
  askHook(hook: Hook, body: Buffer): Promise<HookReply>;
  /** The whole answer, a chat completion. Rejects with a Refusal. */
  askModel(question: ModelQuestion): Promise<JsonObject>;
}
