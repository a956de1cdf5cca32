// What the models of Bedrock can do that Converse has no common word for, read from their ids.

export interface ModelTraits {
  /** `opaque`: the ARN of something that may lead to any model, such as an application inference profile. */
  readonly family: 'claude' | 'nova' | 'other' | 'opaque';
  /** Claude: 3.7 is 37, 4 is 40; 0: older than versions in ids, or another family. */
  readonly version: number;
  /** Claude: thinking can be asked for. */
  readonly canThink: boolean;
  /** Claude: it decides how much to think; a budget is refused or on its way out. */
  readonly thinksAdaptively: boolean;
  /** Claude: it thinks unless it is told not to. */
  readonly thinksByDefault: boolean;
  /** Claude: it cannot be told not to think. */
  readonly alwaysThinks: boolean;
  /** Temperature and the like are taken. */
  readonly hasSampling: boolean;
  /** Claude: `topP` is taken where there is no temperature, and the other way round. */
  readonly hasTopPAlone: boolean;
  /** Marks of a cache are understood; others refuse them. */
  readonly hasCache: boolean;
  /** And in a list of tools, too. */
  readonly hasToolCache: boolean;
  /** And may ask for an hour. */
  readonly hasLongCache: boolean;
}

const opaque =
  /^arn:.*:(application-inference-profile|provisioned-model|imported-model|custom-model|custom-model-deployment|prompt)\//;
/** `claude-3-7-sonnet-20250219`. */
const versionFirst = /claude-(\d)(?:-(\d))?-[a-z]+/;
/** `claude-sonnet-4-20250514`, `claude-opus-4-6`: a minor version has one digit or two, a date eight. */
const familyFirst = /claude-([a-z]+)-(\d{1,2})(?:-(\d{1,2})(?!\d))?/;

const isThinker = /claude-(mythos|fable)/;
/** The first version that takes neither a temperature nor a budget of thoughts. */
const withoutSampling = 47;

/** `model`: the id or ARN as it is configured. */
export function traitsOf(model: string): ModelTraits {
  const family = familyOf(model);
  const version = family === 'claude' ? versionOf(model) : 0;
  return {
    family,
    version,
    canThink: version >= 37,
    thinksAdaptively: version >= 46,
    thinksByDefault: version >= 50,
    alwaysThinks: isThinker.test(model),
    hasSampling: version < withoutSampling,
    hasTopPAlone: version >= 41,
    hasCache: version >= 35 || family === 'nova',
    hasToolCache: version >= 35,
    hasLongCache: version >= 45,
  };
}

function familyOf(model: string): ModelTraits['family'] {
  if (/claude/i.test(model)) return 'claude';
  if (/amazon\.nova/i.test(model)) return 'nova';
  return opaque.test(model) ? 'opaque' : 'other';
}

function versionOf(model: string): number {
  const old = versionFirst.exec(model);
  if (old !== null) return digits(old[1], old[2]);
  const [, , major, minor] = familyFirst.exec(model) ?? [];
  const said = digits(major, minor);
  return isThinker.test(model) ? Math.max(said, withoutSampling) : said;
}

function digits(major: string | undefined, minor: string | undefined): number {
  return Number(major ?? 0) * 10 + Math.min(Number(minor ?? 0), 9);
}
