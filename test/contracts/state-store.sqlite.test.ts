// The contract of the state store on SQLite.
import { testContract } from './state-store-cases.ts';
import { sqlite } from './state-store-engines.ts';

await testContract(sqlite);
