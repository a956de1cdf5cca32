// A request as it is being written in the playground, its body, and the same as a program. Pure.

/** The texts of the fields. */
export interface Draft {
  readonly model: string;
  readonly system: string;
  readonly prompt: string;
  readonly temperature: string;
  readonly maxTokens: string;
  readonly stream: boolean;
}

export const emptyDraft: Draft = { model: '', system: '', prompt: '', temperature: '', maxTokens: '', stream: true };

export const endpoint = '/v1/chat/completions';

/** The first mistake, found before anything is sent. */
export function mistakeIn(draft: Draft): readonly [field: keyof Draft, message: string] | undefined {
  const { model, prompt, temperature, maxTokens } = draft;
  if (model.trim() === '') return ['model', 'Say which model or alias is asked.'];
  if (prompt.trim() === '') return ['prompt', 'Write what the model is asked.'];
  if (!/^(\d+(\.\d+)?)?$/.test(temperature.trim())) return ['temperature', 'Write a number such as 0.7.'];
  if (!/^([1-9]\d{0,8})?$/.test(maxTokens.trim())) return ['maxTokens', 'Write a whole number.'];
  return undefined;
}

export interface ChatBody {
  readonly model: string;
  readonly messages: readonly { readonly role: 'system' | 'user'; readonly content: string }[];
  readonly temperature?: number;
  readonly max_completion_tokens?: number;
  readonly stream?: true;
  readonly stream_options?: { readonly include_usage: true };
}

export function bodyOf({ model, system, prompt, temperature, maxTokens, stream }: Draft): ChatBody {
  return {
    model: model.trim(),
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system } as const]),
      { role: 'user', content: prompt },
    ],
    ...(temperature.trim() === '' ? {} : { temperature: Number(temperature) }),
    ...(maxTokens.trim() === '' ? {} : { max_completion_tokens: Number(maxTokens) }),
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
  };
}
