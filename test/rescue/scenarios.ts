// All scenarios, in the order of the table.
import type { Scenario } from './scenario.ts';
import { breaks } from './scenarios/breaks.ts';
import { ends } from './scenarios/ends.ts';
import { filters } from './scenarios/filters.ts';
import { invalid } from './scenarios/invalid.ts';
import { silence } from './scenarios/silence.ts';
import { statuses } from './scenarios/statuses.ts';
import { vendors } from './scenarios/vendors.ts';

export const scenarios: readonly Scenario[] = [
  ...statuses,
  ...silence,
  ...invalid,
  ...breaks,
  ...vendors,
  ...filters,
  ...ends,
];
