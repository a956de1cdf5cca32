// The list of doors. A model endpoint is a row served by the line; every other door is a Fastify plugin.
import { chatCompletions } from './chat-completions.ts';
import { embeddings } from './embeddings.ts';
import { health } from './health.ts';
import type { ModelEndpoint } from './model-endpoint.ts';
import { models } from './models.ts';
import { usage } from './usage.ts';

export const modelEndpoints: readonly ModelEndpoint[] = [chatCompletions, embeddings];

export const plugins = [health, models, usage] as const;

/** Paths that ask for no key. Everything else does, known or not. */
export const publicPaths: ReadonlySet<string> = new Set(['/health', '/health/ready', '/metrics']);
