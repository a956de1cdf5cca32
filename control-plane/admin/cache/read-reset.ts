// Reads which cached answers a request wants to reset.
import { everyAnswer, modelResetId, pathResetId } from '../../../domain/cache/cache-reset.ts';
import { normaliseUserPath } from '../../../domain/user-path.ts';
import { invalidQuery, readQuery } from '../../managed/read-query.ts';

/** As long as a request may name one. Characters. */
const longestModel = 1_024;

export interface WantedReset {
  /** The id of its document. */
  readonly id: string;
  /** For messages and the log: `user path /team`. */
  readonly about: string;
  /** Of operators of this path, too; undefined: of those of the whole gateway alone. */
  readonly userPath: string | undefined;
  /** Of this model alone; undefined: of every model. */
  readonly model: string | undefined;
}

/** Throws 400 `invalid_query` unless exactly one of `scope=gateway`, `user_path` and `model` is there. */
export function readReset(query: unknown): WantedReset {
  const { scope, user_path: path, model } = readQuery(query, ['scope', 'user_path', 'model']);
  const [first, second] = Object.entries({ scope, user_path: path, model }).filter(([, value]) => value !== undefined);
  if (first === undefined) throw invalidQuery('scope', 'is missing: give scope=gateway, a user_path or a model');
  if (second !== undefined) throw invalidQuery(second[0], `cannot be given together with ${first[0]}`);
  if (path !== undefined) return ofPath(path);
  if (model !== undefined) return ofModel(model);
  if (scope !== 'gateway') throw invalidQuery('scope', 'must be gateway; give a user_path or a model for less');
  return { id: everyAnswer, about: 'every cached answer', userPath: undefined, model: undefined };
}

function ofPath(text: string): WantedReset {
  const { path, problem } = normaliseUserPath(text);
  if (path === undefined) throw invalidQuery('user_path', problem);
  return { id: pathResetId(path), about: `cached answers of the user path ${path}`, userPath: path, model: undefined };
}

function ofModel(model: string): WantedReset {
  if (model.trim() === '' || model.length > longestModel || model.includes('\0'))
    throw invalidQuery('model', `must name a model, in at most ${longestModel} characters`);
  return { id: modelResetId(model), about: `cached answers of the model ${model}`, userPath: undefined, model };
}
