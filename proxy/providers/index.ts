// The list of dialects: a provider type in the config names one of these.
import type { Dialect } from './dialect.ts';
import { openai } from './openai.ts';

export const dialects = { openai } as const satisfies Record<string, Dialect>;
