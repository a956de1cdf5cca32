// The kinds of documents that are named entries of a list of the configuration, one row each.
import { entryResource } from '../managed/entries.ts';
import { managedRoutes } from '../managed/routes.ts';
import { guardrailKind } from './guardrails/kind.ts';

/** The routes of each kind. */
export const entryRoutes = [managedRoutes(entryResource(guardrailKind))];
