// The list of dialects: a provider type in the config names one of these.
import type { Dialect } from '../dialects/dialect.ts';
import { openai } from '../dialects/openai/dialect.ts';

export const dialects = { openai } as const satisfies Record<string, Dialect>;
