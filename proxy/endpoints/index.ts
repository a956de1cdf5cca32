// The Fastify plugins: every endpoint that is not a model endpoint.
import { health } from './health.ts';
import { keptLists } from './kept-lists.ts';
import { models } from './models.ts';
import { realtime } from './realtime.ts';
import { responses } from './responses.ts';
import { usage } from './usage.ts';
import { basePaths, welcome } from './welcome.ts';

export const plugins = [health, keptLists, models, realtime, responses, usage, welcome] as const;

/** Paths that need no key. Every other path needs one, whether it exists or not. */
export const publicPaths: ReadonlySet<string> = new Set([...basePaths, '/health', '/health/ready', '/metrics']);
