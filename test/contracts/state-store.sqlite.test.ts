// The contract of the state store, kept by the embedded store.
import { testContract } from './state-store-cases.ts';
import { sqlite } from './state-store-engines.ts';

await testContract(sqlite);
