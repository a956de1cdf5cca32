// Another process that keeps records as fast as it can, and prints how many were acknowledged.
import type { RecordStoreOptions } from '../../store/records/open-records.ts';
import { openRecordObjects } from '../support/record-objects.ts';
import { record } from './record-store-model.ts';

const store = openRecordObjects(JSON.parse(process.argv[2] ?? '') as RecordStoreOptions);
for (let kept = 0; ; kept += 10) {
  await store.add(Array.from({ length: 10 }, (_, index) => record(kept + index, { session_id: `s${index}` })));
  console.log(JSON.stringify({ acked: kept + 10 }));
}
