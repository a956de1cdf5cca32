// The query parameters of the listing of rate limits: filters, searches and pages.

/** By the name under `components/parameters`. */
export const ruleParameters = {
  RuleUserPath: {
    name: 'user_path',
    in: 'query',
    description: 'Only rules for exactly this user path, which is normalised first.',
    schema: { type: 'string' },
    example: '/team-a',
  },
  RuleCovers: {
    name: 'covers',
    in: 'query',
    description:
      'Only the rules of user paths under which requests of this path count: its own, and those of the paths above it.',
    schema: { type: 'string' },
    example: '/team-a/app',
  },
  RuleScope: {
    name: 'scope',
    in: 'query',
    description: 'Only rules of this scope.',
    schema: { enum: ['user_path', 'provider', 'model'] },
    example: 'provider',
  },
  RuleSubject: {
    name: 'subject',
    in: 'query',
    description: 'Only rules for exactly this subject: a path, a provider or a model. Letter case does not matter.',
    schema: { type: 'string' },
    example: 'openai',
  },
  RuleSearch: {
    name: 'search',
    in: 'query',
    description: 'Only rules with this text in subject, name, reason or place of declaration, in any letter case.',
    schema: { type: 'string' },
    example: 'batch',
  },
  RuleNamed: {
    name: 'rule',
    in: 'query',
    description: 'Only rules with this name or id, as `x-gateway-rule` has it.',
    schema: { type: 'string', minLength: 1 },
    example: 'nightly',
  },
  RuleSource: {
    name: 'source',
    in: 'query',
    description: 'Only rules of the configuration, of operators, or of operators over one of the configuration.',
    schema: { enum: ['config', 'manual', 'override'] },
    example: 'override',
  },
  RuleState: {
    name: 'state',
    in: 'query',
    description:
      'Only rules of which nothing is left of a cap, that have refused, that are in shadow mode, that are not enforced, or that have an end.',
    schema: { enum: ['used_up', 'refused', 'shadow', 'unenforced', 'ending'] },
    example: 'used_up',
  },
  RuleSort: {
    name: 'sort',
    in: 'query',
    description:
      'The order: by subject, by the used part of the cap of which least is left, by how many requests were refused, or by the place of declaration; with - before it the other way round. Absent: by scope and subject.',
    schema: { enum: ['subject', 'use', 'refused', 'source', '-subject', '-use', '-refused', '-source'] },
    example: '-use',
  },
  RuleLimit: {
    name: 'limit',
    in: 'query',
    description: 'The longest page; absent: every rule is listed.',
    schema: { type: 'integer', minimum: 1, maximum: 100 },
    example: 100,
  },
  RuleOffset: {
    name: 'offset',
    in: 'query',
    description: 'How many rules come before the page; only beside `limit`.',
    schema: { type: 'integer', minimum: 0, default: 0 },
    example: 100,
  },
} as const;
