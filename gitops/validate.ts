// Holds a document against the JSON Schemas, fills in the defaults, and says what is wrong in sentences with a place.
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import admin from '../schemas/config/admin.schema.json' with { type: 'json' };
import aliases from '../schemas/config/aliases.schema.json' with { type: 'json' };
import config from '../schemas/config/config.schema.json' with { type: 'json' };
import providers from '../schemas/config/providers.schema.json' with { type: 'json' };
import rateLimits from '../schemas/config/rate-limits.schema.json' with { type: 'json' };
import server from '../schemas/config/server.schema.json' with { type: 'json' };
import units from '../schemas/config/units.schema.json' with { type: 'json' };
import type { Config, Limit } from '../schemas/types.ts';
import { durationMs, largestSizeBytes, longestDurationMs, sizeBytes } from '../schemas/units.ts';
import { pathKey } from './expand.ts';
import { type Complaint, explain, type Sentence } from './explain.ts';
import type { ParsedFile } from './parse.ts';
import { formatPath, mostProblems, type Path, type Problem } from './problem.ts';
import { valueAt } from './value-at.ts';

const ajv = new Ajv2020({
  strict: true,
  strictRequired: false,
  allErrors: true,
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: true,
  verbose: true,
  // A test holds the schemas against their meta-schema; doing that, and optimising the code, would cost every start 20 ms.
  meta: false,
  validateSchema: false,
  code: { optimize: false },
});
ajv.addKeyword({ keyword: 'x-assembled', schemaType: 'string' });
ajv.addKeyword({
  keyword: 'x-unit',
  schemaType: 'string',
  type: 'string',
  error: { message: 'range' },
  validate: isWithinRange,
});
ajv.addSchema(units, 'units.schema.json');
ajv.addSchema(server, 'server.schema.json');
ajv.addSchema(providers, 'providers.schema.json');
ajv.addSchema(aliases, 'aliases.schema.json');
ajv.addSchema(admin, 'admin.schema.json');
ajv.addSchema(rateLimits, 'rate-limits.schema.json');
const check = ajv.compile<Config>(config);
const { limits, limit, user_path_limits, provider_limits } = rateLimits.$defs;
const providerName = new RegExp(provider_limits.properties.name.pattern);
/** Few starts need it, so none pays for it unasked. */
let checkLimitList: ValidateFunction<GivenLimits> | undefined;

/** A limit of a variable says itself whether it is a template: there is no entry around it. */
type GivenLimits = (Limit & { per_child: boolean })[];

/** Words of the schemas that speak of the form of a string; they cannot be judged while a variable in it is unknown. */
const formWords = new Set(['enum', 'pattern', 'minLength', 'maxLength', 'x-unit']);

/** The configuration that says nothing: every default. */
export function defaultConfig(): Config {
  const value: unknown = {};
  if (!check(value)) throw new Error('the defaults of the schemas contradict the schemas');
  return value;
}

/**
 * Validates one expanded document and writes the defaults into it. `unknown` holds the places of strings whose text is not known. One
 * problem per mistake, but at most `mostProblems`: `unlisted` counts the rest. A top-level key that is not `unsound` has the shape the
 * schemas describe.
 */
export function validate(
  parsed: ParsedFile,
  value: unknown,
  unknown: ReadonlySet<string>,
): { problems: Problem[]; unlisted: number; unsound: Set<string> } {
  if (check(value)) return { problems: [], unlisted: 0, unsound: new Set() };
  const complaints: Complaint[] = [];
  for (const error of check.errors ?? []) {
    const path = pathOf(error, value);
    if (formWords.has(error.keyword) && unknown.has(pathKey(path))) continue;
    complaints.push({ error, path });
  }
  // A text where a list or a number belongs, with a variable in it: that is one mistake, and reported already.
  const sentences = explain(
    complaints.filter(({ path }) => !unknown.has(pathKey(path))),
    parsed.value,
  );
  const problems = sentences.slice(0, mostProblems).map(({ path, part, message }) => {
    return { file: parsed.file, ...parsed.locate(path, part), path: formatPath(path), message };
  });
  return {
    problems,
    unlisted: sentences.length - problems.length,
    unsound: new Set(complaints.map(({ error, path }) => String(path[0] ?? error.params['additionalProperty']))),
  };
}

/**
 * Validates the list of limits of an environment variable and writes the defaults into it. Sentences quote nothing of the value.
 */
export function validateLimitList(value: unknown): { limits?: GivenLimits; sentences: Sentence[] } {
  const { per_child } = user_path_limits.properties;
  const items = { ...limit, properties: { ...limit.properties, per_child } };
  checkLimitList ??= ajv.compile<GivenLimits>({ ...limits, items, $defs: rateLimits.$defs });
  if (checkLimitList(value)) return { limits: value, sentences: [] };
  const complaints = (checkLimitList.errors ?? []).map((error) => ({ error, path: pathOf(error, value) }));
  return { sentences: explain(complaints, value, true) };
}

/** Whether a rule for a provider of this name could stand in a file. */
export function isProviderName(name: string): boolean {
  return providerName.test(name);
}

function pathOf(error: ErrorObject, root: unknown): Path {
  const path: (string | number)[] = [];
  for (const part of error.instancePath.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(valueAt(root, path)) ? Number(name) : name);
  }
  return path;
}

/** What the pattern refuses is no concern of the range, so that one mistake is reported once. */
function isWithinRange(unit: string, text: string): boolean {
  try {
    const [amount, most] =
      unit === 'size' ? [sizeBytes(text), largestSizeBytes] : [durationMs(text), longestDurationMs];
    return amount >= 1 && amount <= most;
  } catch (error) {
    if (error instanceof RangeError) return true;
    throw error;
  }
}
