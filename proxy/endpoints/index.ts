// The Fastify plugins: every endpoint that is not a model endpoint.
import type { FastifyPluginAsync } from 'fastify';
import { type HealthParts, health } from './health.ts';
import { type KeptListParts, keptLists } from './kept-lists.ts';
import { type ModelListParts, models } from './models.ts';
import { realtime } from './realtime.ts';
import { type ResponseParts, responses } from './responses.ts';
import { type UsageParts, usage } from './usage.ts';
import { basePaths, type WelcomeParts, welcome } from './welcome.ts';

export type PluginParts = HealthParts & KeptListParts & ModelListParts & ResponseParts & UsageParts & WelcomeParts;

export const plugins: readonly FastifyPluginAsync<{ gateway: PluginParts }>[] = [
  health,
  keptLists,
  models,
  realtime,
  responses,
  usage,
  welcome,
];

/** Paths that need no key. Every other path needs one, whether it exists or not. */
export const publicPaths: ReadonlySet<string> = new Set([...basePaths, '/health', '/health/ready', '/metrics']);
