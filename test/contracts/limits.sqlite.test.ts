// The contract of shared limits in a file, and what only a file can do: be opened by two processes at once, vanish, be replaced, be damaged.
import { testLimits } from './limits-cases.ts';
import { sqliteLimitEngine } from './limits-engines.ts';

await testLimits(sqliteLimitEngine);
