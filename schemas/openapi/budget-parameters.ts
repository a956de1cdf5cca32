// The query parameters of the listing of budgets.

export const budgetParameters = {
  BudgetUserPath: {
    name: 'user_path',
    in: 'query',
    description: 'Only budgets for exactly this user path, which is normalised first.',
    schema: { type: 'string' },
    example: '/team-a',
  },
  BudgetCovers: {
    name: 'covers',
    in: 'query',
    description:
      'Only the budgets of user paths that requests of this path spend from: its own, and those of the paths above it. Of a template it shows what the child of this path has spent.',
    schema: { type: 'string' },
    example: '/team-a/app',
  },
  BudgetScope: {
    name: 'scope',
    in: 'query',
    description: 'Only budgets of this scope.',
    schema: { enum: ['user_path', 'label'] },
    example: 'label',
  },
  BudgetSubject: {
    name: 'subject',
    in: 'query',
    description: 'Only budgets for exactly this subject: a path, in any letter case, or a label.',
    schema: { type: 'string' },
    example: 'batch',
  },
} as const;
