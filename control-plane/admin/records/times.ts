// How long answers took, as the admin API shows it. Pure.
import type { Times } from '../../../store/records/record-store.ts';

/** What is not known is left out. */
export function describeTimes({ duration, firstByte }: Times): object {
  return {
    ...(duration === undefined ? {} : { duration_p50_ns: duration.p50, duration_p95_ns: duration.p95 }),
    ...(firstByte === undefined ? {} : { first_byte_p50_ns: firstByte.p50, first_byte_p95_ns: firstByte.p95 }),
  };
}
