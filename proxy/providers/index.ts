// The list of dialects: a provider type in the config names one of these.
import { chat } from '../dialects/chat/dialect.ts';
import type { Dialect } from '../dialects/dialect.ts';

export const dialects = { openai: chat } as const satisfies Record<string, Dialect>;
